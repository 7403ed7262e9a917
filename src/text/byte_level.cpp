// The byte-level alphabet as a table from character to byte.
#include "text/byte_level.h"

#include <array>

#include "base/utf8.h"

namespace inkstone::text {
namespace {

constexpr bool stands_for_itself(unsigned byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

// Character to byte, -1 outside the alphabet: 256 characters from U+0000, then the 68 replacements.
constexpr std::size_t kAlphabetEnd = 256 + 68;
constexpr std::array<std::int16_t, kAlphabetEnd> kByteOfCharacter = [] {
    std::array<std::int16_t, kAlphabetEnd> table{};
    std::size_t next = 256;
    for (unsigned byte = 0; byte < 256; ++byte) {
        table[byte] = static_cast<std::int16_t>(stands_for_itself(byte) ? byte : -1);
        if (!stands_for_itself(byte)) table[next++] = static_cast<std::int16_t>(byte);
    }
    return table;
}();

}  // namespace

std::optional<std::uint8_t> byte_of_character(char32_t code_point) {
    if (code_point >= kAlphabetEnd || kByteOfCharacter[code_point] < 0) return std::nullopt;
    return static_cast<std::uint8_t>(kByteOfCharacter[code_point]);
}

std::optional<char32_t> append_token_bytes(std::string_view token, std::string& out) {
    const std::size_t before = out.size();
    while (!token.empty()) {
        if (token.front() > ' ' && token.front() < 0x7F) {
            out.push_back(token.front());
            token.remove_prefix(1);
            continue;
        }
        const DecodedCharacter character = decode_utf8(token);
        const auto byte = byte_of_character(character.code_point);
        if (!byte) {
            out.resize(before);
            return character.code_point;
        }
        out.push_back(static_cast<char>(*byte));
        token.remove_prefix(character.length_bytes);
    }
    return std::nullopt;
}

}  // namespace inkstone::text
