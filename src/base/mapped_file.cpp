// Mapping and reading of files (POSIX).
#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace inkstone {
namespace {

Error system_error(std::string_view stage, const std::filesystem::path& path, std::string_view action, int number) {
    const bool missing = number == ENOENT || number == ENOTDIR;
    return {missing ? ErrorCode::not_found : ErrorCode::io, std::string(stage), path.string(),
            std::string("cannot ") + std::string(action) + ": " + std::strerror(number)};
}

// What there is instead of a regular file.
const char* kind_of(mode_t mode) {
    if (S_ISFIFO(mode)) return "is a pipe";
    if (S_ISSOCK(mode)) return "is a socket";
    return "is a device";
}

// An open descriptor of a regular file and its size.
struct OpenFile {
    int descriptor = -1;
    std::size_t size = 0;
    timespec changed{};
    OpenFile(int open_descriptor, std::size_t file_size) : descriptor(open_descriptor), size(file_size) {}
    OpenFile(OpenFile&& other) noexcept
        : descriptor(std::exchange(other.descriptor, -1)), size(other.size), changed(other.changed) {}
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
        return Error{
            ErrorCode::io, std::string(stage), path.string(),
            std::string(S_ISDIR(status.st_mode) ? "is a directory" : kind_of(status.st_mode)) + ", expected a file"};
    file.size = static_cast<std::size_t>(status.st_size);
    file.changed = status.st_mtim;
    return file;
}

// Reads `size` bytes at `offset`; returns how many there were, or -1.
ssize_t read_at(int descriptor, std::byte* out, std::size_t size, off_t offset) {
    std::size_t done = 0;
    while (done < size) {
        const ssize_t count = ::pread(descriptor, out + done, size - done, offset + static_cast<off_t>(done));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return -1;
        if (count == 0) break;
        done += static_cast<std::size_t>(count);
    }
    return static_cast<ssize_t>(done);
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
    mapped.descriptor_ = std::exchange(file.descriptor, -1);
    mapped.changed_ = file.changed;
    return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      changed_(other.changed_) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(changed_, other.changed_);
    return *this;
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
    if (descriptor_ >= 0) ::close(descriptor_);
}

bool MappedFile::read(std::span<const std::byte> part, std::byte* out) const noexcept {
    return part.empty() || read_at(descriptor_, out, part.size(), offset_of(part)) == static_cast<ssize_t>(part.size());
}

Error MappedFile::read_failure(std::span<const std::byte> part, std::string_view stage) const {
    if (auto status = check_unchanged(stage); !status) return std::move(status).error();
    std::byte first{};
    if (!part.empty() && read_at(descriptor_, &first, 1, offset_of(part)) < 0)
        return system_error(stage, path_, "read", errno);
    return {ErrorCode::io, std::string(stage), path_.string(),
            "cannot read " + std::to_string(part.size()) + " bytes at " + std::to_string(offset_of(part)) +
                "; check the disk it lies on"};
}

Status MappedFile::check_unchanged(std::string_view stage) const {
    if (descriptor_ < 0) return {};  // an empty file, of which nothing is read
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) return system_error(stage, path_, "examine", errno);
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size != size_)
        return Error{ErrorCode::io, std::string(stage), path_.string(),
                     "had " + std::to_string(size_) + " bytes when it was opened and has " + std::to_string(size) +
                         " now: it was changed while it was read; try again once it is complete"};
    if (status.st_mtim.tv_sec != changed_.tv_sec || status.st_mtim.tv_nsec != changed_.tv_nsec)
        return Error{ErrorCode::io, std::string(stage), path_.string(),
                     "was written to while it was read; try again once it is complete"};
    return {};
}

Result<std::string> read_text_file(const std::filesystem::path& path, std::size_t limit_bytes, std::string_view stage,
                                   const CancelToken* cancel) {
    constexpr std::size_t kBytesBetweenLooks = std::size_t{4} << 20;  // some milliseconds of a slow disk
    INKSTONE_TRY(auto file, open_regular(path, stage));
    if (file.size > limit_bytes)
        return Error{ErrorCode::malformed, std::string(stage), path.string(),
                     "has " + std::to_string(file.size) + " bytes, more than the " + std::to_string(limit_bytes) +
                         " bytes that such a file may have"};
    std::string text(file.size, '\0');
    std::size_t done = 0;
    while (done < text.size()) {
        if (cancelled(cancel)) return cancelled_error(stage, path.string());
        const ssize_t count =
            ::read(file.descriptor, text.data() + done, std::min(text.size() - done, kBytesBetweenLooks));
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
