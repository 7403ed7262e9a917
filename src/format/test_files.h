// Shared by the tests of format/: a folder that vanishes, and files written byte by byte.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace inkstone::format {

class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "inkstone-format-XXXXXX").string();
        path_ = ::mkdtemp(name.data());
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

inline std::filesystem::path write_file(const std::filesystem::path& path, std::string_view content) {
    std::filesystem::remove(path);  // rewriting in place would wait for the disk on some file systems
    std::ofstream(path, std::ios::binary) << content;
    return path;
}

// A safetensors file from its parts: the length of the header, the header, the data.
inline std::string safetensors_bytes(std::uint64_t header_length, std::string_view header, std::string_view data) {
    std::string out(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<char>((header_length >> (8 * i)) & 0xFF);
    return out.append(header).append(data);
}

inline std::string safetensors_bytes(std::string_view header, std::string_view data) {
    return safetensors_bytes(header.size(), header, data);
}

}  // namespace inkstone::format
