// Mapping and reading of files (POSIX).
#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace inkstone {
namespace {

Error system_error(std::string_view stage, const std::filesystem::path& path, std::string_view action, int number) {
    const bool missing = number == ENOENT || number == ENOTDIR;
    return {missing ? ErrorCode::not_found : ErrorCode::io, std::string(stage), path.string(),
            std::string("cannot ") + std::string(action) + ": " + std::strerror(number)};
}

// An open descriptor of a regular file and its size.
struct OpenFile {
    int descriptor = -1;
    std::size_t size = 0;
    OpenFile(int open_descriptor, std::size_t file_size) : descriptor(open_descriptor), size(file_size) {}
    OpenFile(OpenFile&& other) noexcept : descriptor(std::exchange(other.descriptor, -1)), size(other.size) {}
    OpenFile& operator=(OpenFile&&) = delete;
    ~OpenFile() {
        if (descriptor >= 0) ::close(descriptor);
    }
};

Result<OpenFile> open_regular(const std::filesystem::path& path, std::string_view stage) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return system_error(stage, path, "open", errno);
    OpenFile file(descriptor, 0);
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) return system_error(stage, path, "examine", errno);
    if (!S_ISREG(status.st_mode))
        return Error{ErrorCode::io, std::string(stage), path.string(),
                     S_ISDIR(status.st_mode) ? "is a directory, not a file" : "is not a regular file"};
    file.size = static_cast<std::size_t>(status.st_size);
    return file;
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path, std::string_view stage) {
    INKSTONE_TRY(auto file, open_regular(path, stage));
    MappedFile mapped;
    mapped.path_ = path;
    if (file.size == 0) return mapped;
    void* data = ::mmap(nullptr, file.size, PROT_READ, MAP_PRIVATE, file.descriptor, 0);
    if (data == MAP_FAILED) return system_error(stage, path, "map", errno);
    mapped.data_ = static_cast<const std::byte*>(data);
    mapped.size_ = file.size;
    return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::release(std::span<const std::byte> part) const {
    // Whole pages inside the part only: a neighbour may still be in use.
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto begin = (reinterpret_cast<std::uintptr_t>(part.data()) + page - 1) / page * page;
    const auto end = reinterpret_cast<std::uintptr_t>(part.data() + part.size()) / page * page;
    if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

Result<std::string> read_text_file(const std::filesystem::path& path, std::size_t limit_bytes, std::string_view stage) {
    INKSTONE_TRY(auto file, open_regular(path, stage));
    if (file.size > limit_bytes)
        return Error{ErrorCode::malformed, std::string(stage), path.string(),
                     "has " + std::to_string(file.size) + " bytes, more than the " + std::to_string(limit_bytes) +
                         " bytes that such a file may have"};
    std::string text(file.size, '\0');
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t count = ::read(file.descriptor, text.data() + done, text.size() - done);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return system_error(stage, path, "read", errno);
        if (count == 0)
            return Error{ErrorCode::io, std::string(stage), path.string(),
                         "ended after " + std::to_string(done) + " of " + std::to_string(text.size()) + " bytes"};
        done += static_cast<std::size_t>(count);
    }
    return text;
}

}  // namespace inkstone
