// A typed reader of small JSON files (config.json, generation_config.json, tasks.json, a shard index). A lookup gives
// the value in the type and range asked for, or an error that names the file, the key, what is there and what belongs
// there. Files are hostile: size, depth and duplicate keys are checked, UTF-8 too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace inkstone::format {

struct JsonValue;  // the parsed tree, private to json.cpp

// One value of a document: the whole, or a part. Copies share the document, which never changes: safe to use from
// several threads.
//
// A `path` is keys joined by dots, "text_config.hidden_size"; "" is this value itself. Use member() for a key that
// holds a dot. A key whose value is null counts as absent, as Hugging Face writes it. Lookups fail with not_found
// (absent; the nearest present key is suggested) or malformed (another type or range).
class Json {
public:
    static constexpr std::size_t kMaxFileBytes = std::size_t{16} << 20;
    static constexpr int kMaxDepth = 64;

    // Errors: not_found, io, malformed (too large, not JSON: with line and column, too deep, a key twice, no object).
    static Result<Json> read(const std::filesystem::path& path, std::size_t limit_bytes = kMaxFileBytes);
    // `name` stands for the file in messages.
    static Result<Json> parse(std::string_view text, std::string_view name);

    bool has(std::string_view path) const;

    static constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
    static constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
    static constexpr double kInfinity = std::numeric_limits<double>::infinity();

    // Required values; min and max are inclusive. number() takes integers too; numbers are always finite.
    Result<std::int64_t> integer(std::string_view path, std::int64_t min = kLowest, std::int64_t max = kHighest) const;
    Result<double> number(std::string_view path, double min = -kInfinity, double max = kInfinity) const;
    Result<std::string> text(std::string_view path) const;
    Result<bool> boolean(std::string_view path) const;
    Result<std::vector<std::int64_t>> integers(std::string_view path, std::int64_t min = kLowest,
                                               std::int64_t max = kHighest) const;
    Result<std::vector<double>> numbers(std::string_view path, double min = -kInfinity, double max = kInfinity) const;
    Result<std::vector<std::string>> texts(std::string_view path) const;

    // The same with a default for an absent key. A value that is there is still checked.
    Result<std::int64_t> integer_or(std::string_view path, std::int64_t otherwise, std::int64_t min = kLowest,
                                    std::int64_t max = kHighest) const;
    Result<double> number_or(std::string_view path, double otherwise, double min = -kInfinity,
                             double max = kInfinity) const;
    Result<std::string> text_or(std::string_view path, std::string_view otherwise) const;
    Result<bool> boolean_or(std::string_view path, bool otherwise) const;

    // Parts: an object, the elements of a list, one member by its exact key.
    Result<Json> object(std::string_view path) const;
    Result<std::vector<Json>> list(std::string_view path) const;
    Result<Json> member(std::string_view key) const;
    // The keys of this object in the order of the file; empty when this is no object.
    std::vector<std::string> keys() const;

    bool is_object() const;
    bool is_list() const;
    bool is_text() const;
    bool is_integer() const;
    bool is_number() const;  // an integer too
    bool is_boolean() const;
    bool is_null() const;

    const std::string& file() const { return *file_; }
    // An error about a value that the caller found wrong: names the file and the key, for rules across keys.
    Error error(ErrorCode code, std::string_view path, std::string_view message) const;

private:
    Json(std::shared_ptr<const std::string> file, std::shared_ptr<const JsonValue> value, std::string prefix);
    const JsonValue* find(std::string_view path) const;
    Result<const JsonValue*> require(std::string_view path) const;
    Json part(const JsonValue& value, std::string path) const;
    std::string full_path(std::string_view path) const;

    std::shared_ptr<const std::string> file_;
    std::shared_ptr<const JsonValue> value_;  // shares ownership of the whole document
    std::string prefix_;                      // where this value stands in the document
};

// The known key nearest to `key` by edit distance (insertions, deletions, replacements, swapped neighbours), or nothing
// when none is near (at most a third of the key's length, at least one edit) or there are more than 1000 to look at.
std::optional<std::string> nearest_key(std::string_view key, std::span<const std::string> known);

}  // namespace inkstone::format
