// A file mapped read-only. Movable, not copyable; the view lives as long as the object. Whoever looks at the mapping of
// a file that is cut meanwhile is ended by the system (SIGBUS): what loads untrusted files takes their bytes by read().
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "base/cancel.h"
#include "base/result.h"

namespace inkstone {

class MappedFile {
public:
    // Maps the whole file. An empty file gives an empty view. Errors: not_found, io (a directory, no permission).
    static Result<MappedFile> open(const std::filesystem::path& path, std::string_view stage);

    MappedFile() = default;
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile();

    std::span<const std::byte> bytes() const { return {data_, size_}; }
    const std::filesystem::path& path() const { return path_; }
    // Copies a part of bytes() to `out` by reading the file, without touching the mapping. False: the file is shorter
    // than it was, or the system refused; read_failure() says which. Allocates nothing; safe from several threads.
    bool read(std::span<const std::byte> part, std::byte* out) const noexcept;
    Error read_failure(std::span<const std::byte> part, std::string_view stage) const;
    // Errors: io when the file was written to since it was opened (its size or its time of change differ).
    Status check_unchanged(std::string_view stage) const;

private:
    off_t offset_of(std::span<const std::byte> part) const { return static_cast<off_t>(part.data() - data_); }

    std::filesystem::path path_;
    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
    int descriptor_ = -1;
    timespec changed_{};  // when the file was last written to, at opening
};

// Reads a whole regular file of at most `limit_bytes` into a string. Errors: not_found, io, malformed (too large),
// cancelled.
Result<std::string> read_text_file(const std::filesystem::path& path, std::size_t limit_bytes, std::string_view stage,
                                   const CancelToken* cancel = nullptr);

}  // namespace inkstone
