// Lookups in a parsed JSON document, and their error messages. The parsing itself is in json_parse.cpp.
#include "format/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/mapped_file.h"
#include "format/json_value.h"

namespace inkstone::format {
namespace {

constexpr std::string_view kStage = "read json";

// The shortest decimal form that reads back equal.
std::string short_number(double value) {
    std::array<char, 32> digits{};
    return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

// What is there, short enough for a message: the value of a scalar, the kind and size of a container.
std::string describe(const JsonValue& value) {
    if (value.is<std::nullptr_t>()) return "null";
    if (const auto* boolean = value.as<bool>()) return *boolean ? "true" : "false";
    if (const auto* integer = value.as<std::int64_t>()) return std::to_string(*integer);
    if (const auto* real = value.as<double>()) return short_number(*real);
    if (const auto* text = value.as<std::string>())
        return text->size() <= 80 ? "\"" + *text + "\"" : "a text of " + std::to_string(text->size()) + " bytes";
    if (const auto* list = value.as<JsonValue::List>()) return "a list of " + std::to_string(list->size()) + " values";
    return "an object of " + std::to_string(value.as<JsonValue::Object>()->members.size()) + " keys";
}

std::string bounded(std::string_view kind, const std::string& low, const std::string& high, bool has_low,
                    bool has_high) {
    std::string out(kind);
    if (has_low && has_high) return out + " from " + low + " to " + high;
    if (has_low) return out + " of at least " + low;
    if (has_high) return out + " of at most " + high;
    return out;
}

struct IntegerRule {
    std::int64_t min, max;
    std::string expected() const {
        return bounded("an integer", std::to_string(min), std::to_string(max), min != Json::kLowest,
                       max != Json::kHighest);
    }
    std::optional<std::int64_t> operator()(const JsonValue& value) const {
        const auto* integer = value.as<std::int64_t>();
        if (integer == nullptr || *integer < min || *integer > max) return std::nullopt;
        return *integer;
    }
};

struct NumberRule {
    double min, max;
    std::string expected() const {
        return bounded("a number", short_number(min), short_number(max), std::isfinite(min), std::isfinite(max));
    }
    std::optional<double> operator()(const JsonValue& value) const {
        double number = 0;
        if (const auto* real = value.as<double>())
            number = *real;
        else if (const auto* integer = value.as<std::int64_t>())
            number = static_cast<double>(*integer);
        else
            return std::nullopt;
        if (!(number >= min && number <= max)) return std::nullopt;
        return number;
    }
};

struct TextRule {
    std::string expected() const { return "a text"; }
    std::optional<std::string> operator()(const JsonValue& value) const {
        const auto* text = value.as<std::string>();
        return text == nullptr ? std::nullopt : std::optional(*text);
    }
};

struct BooleanRule {
    std::string expected() const { return "true or false"; }
    std::optional<bool> operator()(const JsonValue& value) const {
        const auto* boolean = value.as<bool>();
        return boolean == nullptr ? std::nullopt : std::optional(*boolean);
    }
};

// The value under the rule, or the error that says what is there and what belongs there.
template <class T, class Rule>
Result<T> checked_value(const Json& json, std::string_view path, const JsonValue& value, const Rule& rule) {
    if (auto found = rule(value)) return std::move(*found);
    return json.error(ErrorCode::malformed, path, "is " + describe(value) + ", expected " + rule.expected());
}

template <class T, class Rule>
Result<std::vector<T>> checked_list(const Json& json, std::string_view path, const JsonValue& value, const Rule& rule) {
    const auto* list = value.as<JsonValue::List>();
    if (list == nullptr)
        return json.error(ErrorCode::malformed, path,
                          "is " + describe(value) + ", expected a list, each " + rule.expected());
    std::vector<T> out;
    out.reserve(list->size());
    for (const JsonValue& element : *list) {
        const std::string place = std::string(path) + "[" + std::to_string(out.size()) + "]";
        INKSTONE_TRY(T checked, checked_value<T>(json, place, element, rule));
        out.push_back(std::move(checked));
    }
    return out;
}

}  // namespace

Result<Json> Json::read(const std::filesystem::path& path, std::size_t limit_bytes) {
    INKSTONE_TRY(const std::string text, read_text_file(path, limit_bytes, kStage));
    INKSTONE_TRY(Json json, parse(text, path.string()));
    if (!json.is_object())
        return json.error(ErrorCode::malformed, "", "is " + describe(*json.value_) + ", expected an object");
    return json;
}

Result<Json> Json::parse(std::string_view text, std::string_view name) {
    INKSTONE_TRY(JsonValue value, parse_json(text, name, kStage, kMaxDepth));
    return Json(std::make_shared<const std::string>(name), std::make_shared<const JsonValue>(std::move(value)), "");
}

Json::Json(std::shared_ptr<const std::string> file, std::shared_ptr<const JsonValue> value, std::string prefix)
    : file_(std::move(file)), value_(std::move(value)), prefix_(std::move(prefix)) {}

std::string Json::full_path(std::string_view path) const {
    if (prefix_.empty()) return std::string(path);
    if (path.empty()) return prefix_;
    return prefix_ + (path.starts_with('[') ? "" : ".") + std::string(path);
}

Error Json::error(ErrorCode code, std::string_view path, std::string_view message) const {
    const std::string full = full_path(path);
    return {code, std::string(kStage), full.empty() ? *file_ : *file_ + ": " + full, std::string(message)};
}

Json Json::part(const JsonValue& value, std::string path) const {
    return Json(file_, std::shared_ptr<const JsonValue>(value_, &value), std::move(path));
}

const JsonValue* Json::find(std::string_view path) const {
    const JsonValue* value = value_.get();
    while (!path.empty() && value != nullptr) {
        const std::size_t dot = path.find('.');
        value = value->member(path.substr(0, dot));
        path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
    }
    return value == nullptr || value->is<std::nullptr_t>() ? nullptr : value;
}

Result<const JsonValue*> Json::require(std::string_view path) const {
    if (const JsonValue* value = find(path)) return value;
    // The suggestion comes from the object that should have held the last key.
    const std::size_t dot = path.rfind('.');
    const auto parent = dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
    const JsonValue* holder = find(parent);
    std::string message = "is missing";
    if (holder != nullptr && holder->as<JsonValue::Object>() != nullptr) {
        const auto key = dot == std::string_view::npos ? path : path.substr(dot + 1);
        const JsonValue* present = holder->member(key);
        if (present != nullptr)
            message = "is null, expected a value";
        else if (const auto near = nearest_key(key, part(*holder, "").keys()))
            message += "; a similar key is \"" + *near + "\"";
    }
    return error(ErrorCode::not_found, path, message);
}

bool Json::has(std::string_view path) const { return find(path) != nullptr; }

Result<std::int64_t> Json::integer(std::string_view path, std::int64_t min, std::int64_t max) const {
    INKSTONE_TRY(const auto* value, require(path));
    return checked_value<std::int64_t>(*this, path, *value, IntegerRule{min, max});
}

Result<double> Json::number(std::string_view path, double min, double max) const {
    INKSTONE_TRY(const auto* value, require(path));
    return checked_value<double>(*this, path, *value, NumberRule{min, max});
}

Result<std::string> Json::text(std::string_view path) const {
    INKSTONE_TRY(const auto* value, require(path));
    return checked_value<std::string>(*this, path, *value, TextRule{});
}

Result<bool> Json::boolean(std::string_view path) const {
    INKSTONE_TRY(const auto* value, require(path));
    return checked_value<bool>(*this, path, *value, BooleanRule{});
}

Result<std::vector<std::int64_t>> Json::integers(std::string_view path, std::int64_t min, std::int64_t max) const {
    INKSTONE_TRY(const auto* value, require(path));
    return checked_list<std::int64_t>(*this, path, *value, IntegerRule{min, max});
}

Result<std::vector<double>> Json::numbers(std::string_view path, double min, double max) const {
    INKSTONE_TRY(const auto* value, require(path));
    return checked_list<double>(*this, path, *value, NumberRule{min, max});
}

Result<std::vector<std::string>> Json::texts(std::string_view path) const {
    INKSTONE_TRY(const auto* value, require(path));
    return checked_list<std::string>(*this, path, *value, TextRule{});
}

Result<std::int64_t> Json::integer_or(std::string_view path, std::int64_t otherwise, std::int64_t min,
                                      std::int64_t max) const {
    if (!has(path)) return otherwise;
    return integer(path, min, max);
}

Result<double> Json::number_or(std::string_view path, double otherwise, double min, double max) const {
    if (!has(path)) return otherwise;
    return number(path, min, max);
}

Result<std::string> Json::text_or(std::string_view path, std::string_view otherwise) const {
    if (!has(path)) return std::string(otherwise);
    return text(path);
}

Result<bool> Json::boolean_or(std::string_view path, bool otherwise) const {
    if (!has(path)) return otherwise;
    return boolean(path);
}

Result<Json> Json::object(std::string_view path) const {
    INKSTONE_TRY(const auto* value, require(path));
    if (!value->is<JsonValue::Object>())
        return error(ErrorCode::malformed, path, "is " + describe(*value) + ", expected an object");
    return part(*value, full_path(path));
}

Result<std::vector<Json>> Json::list(std::string_view path) const {
    INKSTONE_TRY(const auto* value, require(path));
    const auto* list = value->as<JsonValue::List>();
    if (list == nullptr) return error(ErrorCode::malformed, path, "is " + describe(*value) + ", expected a list");
    std::vector<Json> out;
    out.reserve(list->size());
    for (const JsonValue& element : *list)
        out.push_back(part(element, full_path(path) + "[" + std::to_string(out.size()) + "]"));
    return out;
}

Result<Json> Json::member(std::string_view key) const {
    const JsonValue* value = value_->member(key);
    if (value == nullptr) return error(ErrorCode::not_found, key, "is missing");
    return part(*value, full_path(key));
}

std::vector<std::string> Json::keys() const {
    std::vector<std::string> out;
    if (const auto* object = value_->as<JsonValue::Object>())
        for (const JsonMember& member : object->members) out.push_back(member.key);
    return out;
}

bool Json::is_object() const { return value_->is<JsonValue::Object>(); }
bool Json::is_list() const { return value_->is<JsonValue::List>(); }
bool Json::is_text() const { return value_->is<std::string>(); }
bool Json::is_integer() const { return value_->is<std::int64_t>(); }
bool Json::is_number() const { return is_integer() || value_->is<double>(); }
bool Json::is_boolean() const { return value_->is<bool>(); }
bool Json::is_null() const { return value_->is<std::nullptr_t>(); }

std::optional<std::string> nearest_key(std::string_view key, std::span<const std::string> known) {
    // No option of ours is longer and no object has more keys: bounds the work on hostile files.
    constexpr std::size_t kLongestKey = 64, kMostKeys = 1000;
    if (key.empty() || key.size() > kLongestKey || known.size() > kMostKeys) return std::nullopt;
    std::size_t best = std::max<std::size_t>(1, key.size() / 3) + 1;
    std::optional<std::string> nearest;
    for (const std::string& candidate : known) {
        if (candidate.size() > kLongestKey) continue;
        // Optimal string alignment: three rows of the table of distances between prefixes.
        std::vector<std::size_t> before_last(candidate.size() + 1), last(candidate.size() + 1),
            row(candidate.size() + 1);
        for (std::size_t j = 0; j <= candidate.size(); ++j) last[j] = j;
        for (std::size_t i = 1; i <= key.size(); ++i) {
            row[0] = i;
            for (std::size_t j = 1; j <= candidate.size(); ++j) {
                const std::size_t replace = last[j - 1] + (key[i - 1] == candidate[j - 1] ? 0 : 1);
                row[j] = std::min({replace, last[j] + 1, row[j - 1] + 1});
                if (i > 1 && j > 1 && key[i - 1] == candidate[j - 2] && key[i - 2] == candidate[j - 1])
                    row[j] = std::min(row[j], before_last[j - 2] + 1);
            }
            std::swap(before_last, last);
            std::swap(last, row);
        }
        if (last[candidate.size()] < best) {
            best = last[candidate.size()];
            nearest = candidate;
        }
    }
    return nearest;
}

}  // namespace inkstone::format
