// Escaping, numbers and punctuation of JSON output.
#include "format/json_writer.h"

#include <array>
#include <cassert>
#include <charconv>
#include <cmath>

namespace inkstone::format {
namespace {

// The length of the well-formed UTF-8 sequence at the front of `text` (RFC 3629: no overlong form, no surrogate,
// nothing above U+10FFFF), or 0.
std::size_t sequence_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
    const unsigned first = byte(0);
    if (first < 0x80) return 1;
    if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
    if (first >= 0xE0 && first <= 0xEF) {
        const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
        const unsigned high = first == 0xED ? 0x9F : 0xBF;
        return byte(1) >= low && byte(1) <= high && continues(2) ? 3 : 0;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        const unsigned low = first == 0xF0 ? 0x90 : 0x80;
        const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
        return byte(1) >= low && byte(1) <= high && continues(2) && continues(3) ? 4 : 0;
    }
    return 0;
}

}  // namespace

std::string json_quoted(std::string_view text) {
    constexpr std::string_view kHex = "0123456789abcdef";
    std::string out = "\"";
    while (!text.empty()) {
        const std::size_t length = sequence_length(text);
        const auto first = static_cast<unsigned char>(text.front());
        if (length == 0) {
            out += "\xEF\xBF\xBD";
        } else if (first == '"' || first == '\\') {
            out += {'\\', text.front()};
        } else if (first == '\n') {
            out += "\\n";
        } else if (first == '\r') {
            out += "\\r";
        } else if (first == '\t') {
            out += "\\t";
        } else if (first == '\b') {
            out += "\\b";
        } else if (first == '\f') {
            out += "\\f";
        } else if (first < 0x20) {
            out += {'\\', 'u', '0', '0', kHex[first >> 4], kHex[first & 15U]};
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return out + "\"";
}

void JsonWriter::before_value() {
    if (levels_.empty()) {
        assert(out_.empty());
        return;
    }
    Level& level = levels_.back();
    assert(!level.is_object || after_key_);
    if (!level.is_object && level.has_values) out_ += ',';
    level.has_values = true;
    after_key_ = false;
}

JsonWriter& JsonWriter::begin_object() {
    before_value();
    out_ += '{';
    levels_.push_back({true, false});
    return *this;
}

JsonWriter& JsonWriter::begin_list() {
    before_value();
    out_ += '[';
    levels_.push_back({false, false});
    return *this;
}

JsonWriter& JsonWriter::end(char bracket, [[maybe_unused]] bool is_object) {
    assert(!levels_.empty() && levels_.back().is_object == is_object && !after_key_);
    levels_.pop_back();
    out_ += bracket;
    return *this;
}

JsonWriter& JsonWriter::end_object() { return end('}', true); }
JsonWriter& JsonWriter::end_list() { return end(']', false); }

JsonWriter& JsonWriter::key(std::string_view name) {
    assert(!levels_.empty() && levels_.back().is_object && !after_key_);
    if (levels_.back().has_values) out_ += ',';
    out_ += json_quoted(name);
    out_ += ':';
    after_key_ = true;
    return *this;
}

JsonWriter& JsonWriter::text(std::string_view value) {
    before_value();
    out_ += json_quoted(value);
    return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t value) {
    before_value();
    out_ += std::to_string(value);
    return *this;
}

JsonWriter& JsonWriter::unsigned_integer(std::uint64_t value) {
    before_value();
    out_ += std::to_string(value);
    return *this;
}

JsonWriter& JsonWriter::number(double value) {
    if (!std::isfinite(value)) return null();
    before_value();
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    out_.append(digits.data(), end);
    return *this;
}

JsonWriter& JsonWriter::boolean(bool value) {
    before_value();
    out_ += value ? "true" : "false";
    return *this;
}

JsonWriter& JsonWriter::null() {
    before_value();
    out_ += "null";
    return *this;
}

const std::string& JsonWriter::str() const {
    assert(levels_.empty() && !after_key_);
    return out_;
}

}  // namespace inkstone::format
