// UTF-8: validation, cutting at whole characters, replacing bad bytes. Every text that enters or leaves the engine
// passes here. All functions are pure and safe on any bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace inkstone {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

// What stands at one position of a byte string.
struct DecodedCharacter {
    char32_t code_point = kReplacementCharacter;  // U+FFFD when not valid
    std::size_t length_bytes = 0;  // bytes taken: the character, or the bad part to be replaced by one U+FFFD
    bool valid = false;
    bool cut = false;  // not valid only because the text ends inside a character
};

// Decodes the character at text[0]; `text` must not be empty. A bad part is the longest prefix of a well-formed
// sequence, at least one byte (Unicode 14, section 3.9, "substitution of maximal subparts"), as in Python's decoder.
DecodedCharacter decode_utf8(std::string_view text);

// Appends a code point. Surrogates and values above 10FFFF become U+FFFD.
void append_utf8(std::string& out, char32_t code_point);

bool is_valid_utf8(std::string_view text);

// Length in bytes of the longest prefix that holds whole characters: everything but a tail of at most three bytes that
// more bytes could still complete. Bad bytes count as whole, since nothing can mend them.
std::size_t complete_utf8_length(std::string_view text);

// The text with each bad part replaced by U+FFFD, as Python's bytes.decode("utf-8", errors="replace") does.
std::string replace_invalid_utf8(std::string_view text);

}  // namespace inkstone
