// The byte-level alphabet: each of the 256 bytes is written in tokenizer.json as one printable character (GPT-2's
// table). Printable Latin-1 bytes stand for themselves; the other 68 are U+0100 and on, in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace inkstone::text {

// The byte that a character of the alphabet stands for, or nothing when the character is not of the alphabet.
std::optional<std::uint8_t> byte_of_character(char32_t code_point);

// Appends the bytes that `token`, valid UTF-8 in the byte-level alphabet, stands for. On the first character outside
// the alphabet `out` is restored and that character is returned; success returns nothing.
std::optional<char32_t> append_token_bytes(std::string_view token, std::string& out);

}  // namespace inkstone::text
