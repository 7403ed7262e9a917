// UTF-8 by the table of well-formed sequences (Unicode 14, table 3-7).
#include "base/utf8.h"

#include <algorithm>
#include <cstring>

namespace inkstone {
namespace {

// Number of leading bytes below 0x80, eight at a time.
std::size_t ascii_length(std::string_view text) {
    std::size_t length = 0;
    for (; text.size() - length >= 8; length += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data() + length, 8);
        if ((word & 0x8080808080808080ULL) != 0) break;
    }
    while (length < text.size() && static_cast<unsigned char>(text[length]) < 0x80) ++length;
    return length;
}

}  // namespace

DecodedCharacter decode_utf8(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return {lead, 1, true, false};
    // The second byte's range depends on the first: it keeps out long forms, surrogates and values above 10FFFF.
    std::size_t length = 0;
    unsigned char low = 0x80;
    unsigned char high = 0xBF;
    char32_t code_point = 0;
    if (lead >= 0xC2 && lead <= 0xDF) {
        length = 2;
        code_point = lead & 0x1FU;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
        length = 3;
        code_point = lead & 0x0FU;
        if (lead == 0xE0) low = 0xA0;
        if (lead == 0xED) high = 0x9F;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
        length = 4;
        code_point = lead & 0x07U;
        if (lead == 0xF0) low = 0x90;
        if (lead == 0xF4) high = 0x8F;
    } else {
        return {kReplacementCharacter, 1, false, false};
    }
    for (std::size_t i = 1; i < length; ++i) {
        if (i == text.size()) return {kReplacementCharacter, i, false, true};
        if (byte(i) < low || byte(i) > high) return {kReplacementCharacter, i, false, false};
        code_point = code_point << 6U | (byte(i) & 0x3FU);
        low = 0x80;
        high = 0xBF;
    }
    return {code_point, length, true, false};
}

void append_utf8(std::string& out, char32_t code_point) {
    if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF)) code_point = kReplacementCharacter;
    const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (code_point < 0x80) {
        put(code_point);
    } else if (code_point < 0x800) {
        put(0xC0U | code_point >> 6U);
        put(0x80U | (code_point & 0x3FU));
    } else if (code_point < 0x10000) {
        put(0xE0U | code_point >> 12U);
        put(0x80U | (code_point >> 6U & 0x3FU));
        put(0x80U | (code_point & 0x3FU));
    } else {
        put(0xF0U | code_point >> 18U);
        put(0x80U | (code_point >> 12U & 0x3FU));
        put(0x80U | (code_point >> 6U & 0x3FU));
        put(0x80U | (code_point & 0x3FU));
    }
}

bool is_valid_utf8(std::string_view text) {
    while (true) {
        text.remove_prefix(ascii_length(text));
        if (text.empty()) return true;
        const DecodedCharacter character = decode_utf8(text);
        if (!character.valid) return false;
        text.remove_prefix(character.length_bytes);
    }
}

std::size_t complete_utf8_length(std::string_view text) {
    // A cut character has its lead byte among the last three bytes, and only continuation bytes after it.
    const std::size_t longest_tail = std::min<std::size_t>(3, text.size());
    for (std::size_t tail = 1; tail <= longest_tail; ++tail) {
        const std::size_t begin = text.size() - tail;
        if ((static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80) continue;
        const DecodedCharacter character = decode_utf8(text.substr(begin));
        return character.cut && character.length_bytes == tail ? begin : text.size();
    }
    return text.size();
}

std::string replace_invalid_utf8(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t ascii = ascii_length(text);
        out.append(text.substr(0, ascii));
        text.remove_prefix(ascii);
        if (text.empty()) break;
        const DecodedCharacter character = decode_utf8(text);
        if (character.valid)
            out.append(text.substr(0, character.length_bytes));
        else
            append_utf8(out, kReplacementCharacter);
        text.remove_prefix(character.length_bytes);
    }
    return out;
}

}  // namespace inkstone
