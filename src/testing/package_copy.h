// A package folder that a test may damage: links to the files of a real one, any of which can be replaced or removed.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "format/test_files.h"

namespace inkstone::testing {

class PackageCopy {
public:
    explicit PackageCopy(const std::filesystem::path& original) {
        for (const auto& entry : std::filesystem::directory_iterator(original))
            std::filesystem::create_symlink(entry.path(), folder_ / entry.path().filename().string());
    }
    const std::filesystem::path& path() const { return folder_.path(); }

    void remove(std::string_view file) const { std::filesystem::remove(folder_ / file); }
    void write(std::string_view file, std::string_view content) const {
        remove(file);
        std::ofstream(folder_ / file, std::ios::binary) << content;
    }
    std::string read(std::string_view file) const {
        std::ifstream stream(folder_ / file, std::ios::binary);
        return {std::istreambuf_iterator<char>(stream), {}};
    }
    // Sets the value at a JSON pointer ("/vision_config/hidden_size"); a discarded value removes the key.
    void set(std::string_view file, const std::string& pointer, const nlohmann::json& value) const {
        auto json = nlohmann::json::parse(read(file));
        const nlohmann::json::json_pointer at(pointer);
        if (value.is_discarded())
            json[at.parent_pointer()].erase(at.back());
        else
            json[at] = value;
        write(file, json.dump());
    }

private:
    format::TemporaryFolder folder_;
};

// For PackageCopy::set: the key is taken away.
inline const nlohmann::json kRemoved(nlohmann::json::value_t::discarded);

}  // namespace inkstone::testing
