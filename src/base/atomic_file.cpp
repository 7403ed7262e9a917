// Writing of whole files (POSIX): a temporary name in the same folder, fsync, rename, fsync of the folder.
#include "base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

namespace inkstone {

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& path, std::string_view stage) {
    static std::atomic<unsigned> counter{0};
    // Process and counter make the name ours; O_EXCL makes sure. A leftover of a killed process is stepped over.
    for (int attempt = 0; attempt < 100; ++attempt) {
        std::filesystem::path temporary = path;
        temporary += ".part-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
        const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor >= 0) return AtomicFile(path, std::move(temporary), std::string(stage), descriptor);
        if (errno != EEXIST)
            return Error{errno == ENOENT || errno == ENOTDIR ? ErrorCode::not_found : ErrorCode::io, std::string(stage),
                         path.string(), std::string("cannot create a file there: ") + std::strerror(errno)};
    }
    return Error{ErrorCode::io, std::string(stage), path.string(),
                 "100 temporary names are taken; remove *.part-* files"};
}

AtomicFile::AtomicFile(std::filesystem::path path, std::filesystem::path temporary, std::string stage, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), stage_(std::move(stage)), descriptor_(descriptor) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      stage_(std::move(other.stage_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

AtomicFile::~AtomicFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Error AtomicFile::failure(std::string_view action, int number) const {
    return {ErrorCode::io, stage_, path_.string(), "cannot " + std::string(action) + ": " + std::strerror(number)};
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return failure("write", errno);
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return {};
}

Status AtomicFile::commit() {
    if (::fsync(descriptor_) != 0) return failure("flush", errno);
    if (::close(std::exchange(descriptor_, -1)) != 0) return failure("close", errno);
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) return failure("rename", errno);
    temporary_.clear();
    // The folder's entry too; a file system that cannot flush folders has nothing to flush.
    const auto folder = path_.has_parent_path() ? path_.parent_path() : std::filesystem::path(".");
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        ::fsync(descriptor);
        ::close(descriptor);
    }
    return {};
}

}  // namespace inkstone
