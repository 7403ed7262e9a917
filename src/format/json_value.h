// The tree of a parsed JSON document, and its parser. Private to format/: others see Json (json.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace inkstone::format {

struct JsonMember;

struct JsonValue {
    using List = std::vector<JsonValue>;
    struct Object {
        std::vector<JsonMember> members;    // in the order of the file
        std::vector<std::uint32_t> by_key;  // indices of members, sorted by key
    };
    // An integer outside 64 signed bits is held as a double, so that it fails every integer rule.
    std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, List, Object> content;

    template <class T>
    bool is() const {
        return std::holds_alternative<T>(content);
    }
    template <class T>
    const T* as() const {
        return std::get_if<T>(&content);
    }
    // The member of this object with this key; null when there is none, or when this is no object.
    const JsonValue* member(std::string_view key) const;
};

struct JsonMember {
    std::string key;
    JsonValue value;
};

// Strict JSON (RFC 8259) in UTF-8. Errors, about `name`: malformed, with line and column.
Result<JsonValue> parse_json(std::string_view text, std::string_view name, std::string_view stage, int max_depth);

}  // namespace inkstone::format
