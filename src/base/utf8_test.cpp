// UTF-8 against Python's decoder (tests/golden/text/utf8.json, made by tools/validation/make_tokenizer_goldens.py).
#include "base/utf8.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace inkstone {
namespace {

std::string bytes_of_hex(const std::string& hex) {
    std::string out;
    for (std::size_t i = 0; i < hex.size(); i += 2)
        out.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    return out;
}

// Pairs of bytes and what Python makes of them.
std::vector<std::pair<std::string, std::string>> golden_cases() {
    std::ifstream file(INKSTONE_SOURCE_DIR "/tests/golden/text/utf8.json");
    std::vector<std::pair<std::string, std::string>> out;
    for (const auto& item : nlohmann::json::parse(file))
        out.emplace_back(bytes_of_hex(item[0].get<std::string>()), item[1].get<std::string>());
    return out;
}

}  // namespace

TEST(Utf8, ReplacesBadBytesAsPythonDoes) {
    const auto cases = golden_cases();
    ASSERT_GT(cases.size(), 400U);
    for (const auto& [bytes, expected] : cases) {
        EXPECT_EQ(replace_invalid_utf8(bytes), expected) << testing::PrintToString(bytes);
        EXPECT_EQ(is_valid_utf8(bytes), bytes == expected) << testing::PrintToString(bytes);
    }
}

TEST(Utf8, CuttingAtWholeCharactersLosesNothing) {
    for (const auto& [bytes, expected] : golden_cases()) {
        for (std::size_t size = 0; size <= bytes.size(); ++size) {
            const std::size_t complete = complete_utf8_length(bytes.substr(0, size));
            ASSERT_LE(complete, size);
            ASSERT_LE(size - complete, 3U);
            EXPECT_EQ(replace_invalid_utf8(bytes.substr(0, complete)) + replace_invalid_utf8(bytes.substr(complete)),
                      expected)
                << testing::PrintToString(bytes) << " cut at " << size;
        }
    }
}

TEST(Utf8, HoldsBackJustWhatMayBeCompleted) {
    EXPECT_EQ(complete_utf8_length(""), 0U);
    EXPECT_EQ(complete_utf8_length("a"), 1U);
    EXPECT_EQ(complete_utf8_length("a\xF0\x9F\x91"), 1U);
    EXPECT_EQ(complete_utf8_length("a\xF0\x9F\x91\x8D"), 5U);
    EXPECT_EQ(complete_utf8_length("\xE4\xB8"), 0U);
    EXPECT_EQ(complete_utf8_length("\xE0\x80"), 2U);      // no character begins so
    EXPECT_EQ(complete_utf8_length("\x80\x80\x80"), 3U);  // nothing can complete these
    EXPECT_EQ(complete_utf8_length("\xC3"), 0U);
    EXPECT_EQ(complete_utf8_length("\xFF"), 1U);
}

TEST(Utf8, EveryCodePointComesBack) {
    for (char32_t code_point = 0; code_point <= 0x10FFFF; code_point += code_point < 0x11000 ? 1 : 97) {
        std::string text;
        append_utf8(text, code_point);
        const DecodedCharacter character = decode_utf8(text);
        const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
        ASSERT_TRUE(character.valid);
        ASSERT_EQ(character.code_point, surrogate ? kReplacementCharacter : code_point);
        ASSERT_EQ(character.length_bytes, text.size());
    }
    std::string beyond;
    append_utf8(beyond, 0x110000);
    EXPECT_EQ(beyond, "\xEF\xBF\xBD");
}

}  // namespace inkstone
