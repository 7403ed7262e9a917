// The cache's layout: models--OWNER--NAME/{refs/main, snapshots/REVISION/...}.
#include "runtime/hub_cache.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/mapped_file.h"

namespace inkstone::runtime {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> cache_folders() {
    std::vector<fs::path> folders;
    const auto variable = [](const char* name) {
        const char* value = std::getenv(name);
        return value != nullptr && *value != '\0' ? std::optional<fs::path>(value) : std::nullopt;
    };
    if (const auto cache = variable("HF_HUB_CACHE")) folders.push_back(*cache);
    if (const auto home = variable("HF_HOME")) folders.push_back(*home / "hub");
    if (const auto cache = variable("XDG_CACHE_HOME")) folders.push_back(*cache / "huggingface" / "hub");
    if (const auto home = variable("HOME")) folders.push_back(*home / ".cache" / "huggingface" / "hub");
    return folders;
}

bool is_name(std::string_view part) {
    return !part.empty() && part.front() != '.' && std::ranges::all_of(part, [](unsigned char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
               c == '.';
    });
}

std::optional<fs::path> snapshot_of(const fs::path& model) {
    std::error_code error;
    // refs/main holds the revision's name: 40 hexadecimal digits.
    if (auto revision = read_text_file(model / "refs" / "main", 256, "find model")) {
        while (!revision->empty() && (revision->back() == '\n' || revision->back() == '\r')) revision->pop_back();
        if (is_name(*revision)) {
            fs::path snapshot = model / "snapshots" / *revision;
            if (fs::exists(snapshot / "config.json", error)) return snapshot;
        }
    }
    std::optional<fs::path> newest;
    fs::file_time_type newest_time{};
    for (fs::directory_iterator at(model / "snapshots", error), end; !error && at != end; at.increment(error)) {
        std::error_code entry_error;
        const auto time = fs::last_write_time(at->path(), entry_error);
        if (entry_error || !fs::exists(at->path() / "config.json", entry_error)) continue;
        if (newest && time <= newest_time) continue;
        newest = at->path();
        newest_time = time;
    }
    return newest;
}

}  // namespace

std::optional<fs::path> find_hub_snapshot(std::string_view name) {
    const auto slash = name.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    const std::string_view owner = name.substr(0, slash), model = name.substr(slash + 1);
    if (!is_name(owner) || !is_name(model)) return std::nullopt;
    const std::string folder = "models--" + std::string(owner) + "--" + std::string(model);
    for (const fs::path& cache : cache_folders())
        if (auto snapshot = snapshot_of(cache / folder)) return snapshot;
    return std::nullopt;
}

}  // namespace inkstone::runtime
