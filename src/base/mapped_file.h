// A file mapped read-only: weights are used where they lie. Movable, not copyable; the view lives as long as the
// object.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

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
    // Tells the system that these bytes are not needed soon: they leave resident memory, and reading them again works.
    void release(std::span<const std::byte> part) const;

private:
    std::filesystem::path path_;
    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

// Reads a whole regular file of at most `limit_bytes` into a string. Errors: not_found, io, malformed (too large).
Result<std::string> read_text_file(const std::filesystem::path& path, std::size_t limit_bytes, std::string_view stage);

}  // namespace inkstone
