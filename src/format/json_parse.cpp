// The one file that knows nlohmann-json: its event parser feeds our tree, so that depth and duplicate keys are checked
// while reading (its own tree silently keeps the last of two equal keys).
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "format/json_value.h"

namespace inkstone::format {
namespace {

class TreeBuilder final : public nlohmann::json_sax<nlohmann::json> {
public:
    explicit TreeBuilder(int max_depth) : max_depth_(static_cast<std::size_t>(max_depth)) {}

    bool null() override { return put(nullptr); }
    bool boolean(bool value) override { return put(value); }
    bool number_integer(std::int64_t value) override { return put(value); }
    bool number_unsigned(std::uint64_t value) override {
        if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            return put(static_cast<double>(value));
        return put(static_cast<std::int64_t>(value));
    }
    bool number_float(double value, const std::string&) override { return put(value); }
    bool string(std::string& value) override { return put(std::move(value)); }
    bool binary(nlohmann::json::binary_t&) override { return fail("holds binary data"); }

    bool start_object(std::size_t) override { return open(JsonValue::Object{}); }
    bool start_array(std::size_t) override { return open(JsonValue::List{}); }
    bool end_array() override { return close(); }
    bool end_object() override {
        auto& object = std::get<JsonValue::Object>(open_.back().value.content);
        const auto& members = object.members;
        object.by_key.resize(members.size());
        for (std::size_t i = 0; i < members.size(); ++i) object.by_key[i] = static_cast<std::uint32_t>(i);
        std::ranges::sort(object.by_key, {}, [&](std::uint32_t i) -> const std::string& { return members[i].key; });
        const auto twice = std::ranges::adjacent_find(
            object.by_key, {}, [&](std::uint32_t i) -> const std::string& { return members[i].key; });
        if (twice != object.by_key.end())
            return fail("has the key \"" + members[*twice].key + "\" twice in one object");
        return close();
    }
    bool key(std::string& value) override {
        open_.back().key = std::move(value);
        return true;
    }

    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
        position_ = position;
        return false;
    }

    JsonValue take() { return std::move(root_); }
    const std::string& failure() const { return failure_; }
    std::size_t position() const { return position_; }

private:
    struct Open {
        JsonValue value;
        std::string key;  // of the member being read, in an object
    };

    bool put(decltype(JsonValue::content) content) {
        JsonValue value{std::move(content)};
        if (open_.empty())
            root_ = std::move(value);
        else if (auto* list = std::get_if<JsonValue::List>(&open_.back().value.content))
            list->push_back(std::move(value));
        else
            std::get<JsonValue::Object>(open_.back().value.content)
                .members.push_back({std::move(open_.back().key), std::move(value)});
        return true;
    }

    bool open(decltype(JsonValue::content) content) {
        if (open_.size() >= max_depth_)
            return fail("is nested deeper than the " + std::to_string(max_depth_) +
                        " levels that such a file may have");
        open_.push_back({JsonValue{std::move(content)}, {}});
        return true;
    }

    bool close() {
        auto content = std::move(open_.back().value.content);
        open_.pop_back();
        return put(std::move(content));
    }

    bool fail(std::string message) {
        failure_ = std::move(message);
        return false;
    }

    std::size_t max_depth_;
    std::vector<Open> open_;
    JsonValue root_;
    std::string failure_;
    std::size_t position_ = 0;
};

std::string place_of(std::string_view text, std::size_t position) {
    const auto before = text.substr(0, std::min(position, text.size()));
    const auto line = static_cast<std::size_t>(std::ranges::count(before, '\n')) + 1;
    const std::size_t newline = before.rfind('\n');
    const std::size_t column = newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
    return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

}  // namespace

const JsonValue* JsonValue::member(std::string_view key) const {
    const auto* object = as<Object>();
    if (object == nullptr) return nullptr;
    const auto key_at = [&](std::uint32_t i) -> std::string_view { return object->members[i].key; };
    const auto found = std::ranges::lower_bound(object->by_key, key, {}, key_at);
    if (found == object->by_key.end() || key_at(*found) != key) return nullptr;
    return &object->members[*found].value;
}

Result<JsonValue> parse_json(std::string_view text, std::string_view name, std::string_view stage, int max_depth) {
    const auto malformed = [&](std::string message) {
        return Error{ErrorCode::malformed, std::string(stage), std::string(name), std::move(message)};
    };
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return malformed("is empty, expected JSON");
    // Python's json refuses it too, and so do the readers of tokenizer.json and safetensors.
    if (text.starts_with("\xEF\xBB\xBF"))
        return malformed("begins with a byte order mark, expected JSON in UTF-8 without one; save it so");
    TreeBuilder builder(max_depth);
    if (nlohmann::json::sax_parse(text, &builder)) return builder.take();
    if (!builder.failure().empty()) return malformed(builder.failure());
    if (builder.position() > text.size())
        return malformed("ends inside a value after " + std::to_string(text.size()) +
                         " bytes: the file is cut short; get it again");
    return malformed("is not valid JSON at " + place_of(text, builder.position()));
}

}  // namespace inkstone::format
