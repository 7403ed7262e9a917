// Opening a checkpoint folder: which files hold the weights, and what to say when they do not.
#include "format/checkpoint.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <system_error>

#include "format/json.h"

namespace inkstone::format {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStage = "open checkpoint";
constexpr std::string_view kReadStage = "read weights";
constexpr std::string_view kSingleName = "model.safetensors";
constexpr std::string_view kIndexName = "model.safetensors.index.json";
constexpr std::size_t kMaxIndexBytes = std::size_t{64} << 20;
constexpr std::string_view kContents =
    "a checkpoint folder holds config.json, tokenizer.json and model.safetensors, or shards with "
    "model.safetensors.index.json";

Error failure(ErrorCode code, const fs::path& subject, std::string message) {
    return {code, std::string(kStage), subject.string(), std::move(message)};
}

bool is_there(const fs::path& path) {
    std::error_code ignored;  // what cannot be examined is reported when it is opened
    return fs::exists(fs::symlink_status(path, ignored));
}

Status check_folder(const fs::path& folder) {
    std::error_code code;
    const auto status = fs::status(folder, code);
    if (status.type() == fs::file_type::not_found)
        return failure(ErrorCode::not_found, folder, "there is no such folder; " + std::string(kContents));
    if (code) return failure(ErrorCode::io, folder, "cannot be examined: " + code.message());
    if (status.type() != fs::file_type::directory)
        return failure(ErrorCode::not_found, folder,
                       "is a file, expected the folder that holds it; " + std::string(kContents));
    return {};
}

// What else is there instead of safetensors, so that the message can say what to do about it.
Error nothing_found(const fs::path& folder) {
    std::string message = "holds neither model.safetensors nor model.safetensors.index.json; " + std::string(kContents);
    std::error_code code;
    for (auto entry = fs::directory_iterator(folder, code); !code && entry != fs::directory_iterator();
         entry.increment(code)) {
        const auto name = entry->path().filename().string();
        if (name.starts_with("pytorch_model") || name.ends_with(".gguf") || name.ends_with(".incomplete")) {
            message += "; " + name + " is there, which is ";
            message += name.ends_with(".incomplete") ? "a download that did not finish" : "another format";
            break;
        }
        if (name.ends_with(".safetensors")) {
            message += "; " + name + " is there, which is a file of another name or a shard without its index";
            break;
        }
    }
    return failure(ErrorCode::not_found, folder, message);
}

// The shard's path inside the folder, normal form, or nothing when it could lead out of it.
std::optional<fs::path> path_inside(const std::string& text) {
    const fs::path path = fs::path(text).lexically_normal();  // "a/./b" and "a/b" are one shard
    const bool has_parent = std::ranges::find(path, fs::path("..")) != path.end();
    if (text.empty() || text.find('\0') != std::string::npos || path.is_absolute() || has_parent || path == "." ||
        !path.has_filename())
        return std::nullopt;
    return path;
}

}  // namespace

Result<Checkpoint> Checkpoint::open(const fs::path& folder) {
    INKSTONE_CHECK(check_folder(folder));
    Checkpoint opened;
    opened.folder_ = folder;
    if (is_there(folder / kSingleName)) {
        INKSTONE_CHECK(opened.add_single(folder / kSingleName));
    } else if (is_there(folder / kIndexName)) {
        INKSTONE_CHECK(opened.add_shards(folder / kIndexName));
    } else {
        return nothing_found(folder);
    }
    opened.index_entries();
    return opened;
}

Status Checkpoint::add_single(const fs::path& file) {
    INKSTONE_TRY(Safetensors single, Safetensors::open(file));
    shards_.push_back(std::move(single));
    for (const auto& [name, view] : shards_.front().tensors()) entries_.push_back({name, &view});
    return {};
}

Status Checkpoint::add_shards(const fs::path& index_file) {
    INKSTONE_TRY(const Json index, Json::read(index_file, kMaxIndexBytes));
    INKSTONE_TRY(const Json weight_map, index.object("weight_map"));
    std::map<fs::path, std::vector<std::string>> names_of_shard;
    for (const std::string& name : weight_map.keys()) {
        INKSTONE_TRY(const Json value, weight_map.member(name));
        INKSTONE_TRY(const std::string text, value.text(""));
        const auto path = path_inside(text);
        if (!path)
            return value.error(ErrorCode::malformed, "",
                               "is \"" + text + "\", expected the name of a file inside the checkpoint folder");
        names_of_shard[*path].push_back(name);
    }
    if (names_of_shard.empty()) return weight_map.error(ErrorCode::malformed, "", "is empty, expected tensor names");

    shards_.reserve(names_of_shard.size());
    for (auto& [path, names] : names_of_shard) {
        if (!is_there(folder_ / path))
            return failure(ErrorCode::not_found, folder_ / path,
                           "is missing; " + index_file.filename().string() + " lists " +
                               std::to_string(names_of_shard.size()) + " shards, and " + std::to_string(names.size()) +
                               " tensors in this one: download it into the folder");
        INKSTONE_TRY(Safetensors opened, Safetensors::open(folder_ / path));
        const Safetensors& shard = shards_.emplace_back(std::move(opened));
        std::ranges::sort(names);
        for (const std::string& name : names)
            if (shard.find(name) == nullptr)
                return failure(ErrorCode::malformed, shard.path().string() + ": " + name,
                               "is not in this shard, where " + index_file.filename().string() +
                                   " says it is; the index and the shards come from different downloads");
        for (const auto& [name, view] : shard.tensors())
            if (std::ranges::binary_search(names, name)) entries_.push_back({name, &view});
    }
    return {};
}

void Checkpoint::index_entries() {
    by_name_.resize(entries_.size());
    std::iota(by_name_.begin(), by_name_.end(), 0U);
    std::ranges::sort(by_name_, {}, [&](std::uint32_t i) { return entries_[i].name; });
    for (const Entry& entry : entries_) total_bytes_ += entry.view->bytes.size();
}

const tensor::TensorView* Checkpoint::find(std::string_view name) const {
    const auto name_at = [&](std::uint32_t i) { return entries_[i].name; };
    const auto found = std::ranges::lower_bound(by_name_, name, {}, name_at);
    if (found == by_name_.end() || name_at(*found) != name) return nullptr;
    return entries_[*found].view;
}

std::vector<std::string_view> Checkpoint::names() const {
    std::vector<std::string_view> out;
    out.reserve(entries_.size());
    for (const Entry& entry : entries_) out.push_back(entry.name);
    return out;
}

const Safetensors* Checkpoint::shard_of(std::span<const std::byte> part) const noexcept {
    for (const Safetensors& shard : shards_)
        if (shard.holds(part)) return &shard;
    return nullptr;
}

bool Checkpoint::read(std::span<const std::byte> part, std::byte* out) const noexcept {
    const Safetensors* shard = shard_of(part);
    return shard != nullptr && shard->file().read(part, out);
}

Error Checkpoint::read_failure(std::span<const std::byte> part) const {
    if (const Safetensors* shard = shard_of(part)) return shard->file().read_failure(part, kReadStage);
    return {ErrorCode::internal, std::string(kReadStage), folder_.string(), "the bytes are of no file of this folder"};
}

Status Checkpoint::check_unchanged() const {
    for (const Safetensors& shard : shards_) INKSTONE_CHECK(shard.file().check_unchanged(kReadStage));
    return {};
}

}  // namespace inkstone::format
