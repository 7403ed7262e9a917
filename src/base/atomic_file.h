// A file that appears whole or not at all: written beside its place under another name, flushed to the disk, renamed.
// Used by every writer of ours, so that an interrupted run never leaves half a file under the name asked for.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace inkstone {

class AtomicFile {
public:
    // Creates the temporary file in the folder of `path`. Errors: not_found (no such folder), io.
    static Result<AtomicFile> create(const std::filesystem::path& path, std::string_view stage);

    AtomicFile(AtomicFile&& other) noexcept;
    AtomicFile& operator=(AtomicFile&&) = delete;
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;
    // Removes the temporary file unless commit() succeeded.
    ~AtomicFile();

    Status write(std::span<const std::byte> bytes);
    // Flushes to the disk and gives the file its name, replacing a file of that name. Call once, last.
    Status commit();

private:
    AtomicFile(std::filesystem::path path, std::filesystem::path temporary, std::string stage, int descriptor);
    Error failure(std::string_view action, int number) const;

    std::filesystem::path path_;
    std::filesystem::path temporary_;  // empty once there is nothing to remove
    std::string stage_;
    int descriptor_ = -1;
};

}  // namespace inkstone
