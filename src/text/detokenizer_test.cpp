// Streaming: whole characters only, and the same text in the end.
#include "text/detokenizer.h"

#include <gtest/gtest.h>

#include <random>

#include "base/utf8.h"

namespace inkstone::text {
namespace {

const std::string kNano = INKSTONE_SOURCE_DIR "/models/nano/tokenizer.json";

class DetokenizerTest : public testing::Test {
protected:
    std::int32_t byte(unsigned char value) const {
        const char c = static_cast<char>(value);
        return *tokenizer.token_id({&c, 1});
    }
    Tokenizer tokenizer = Tokenizer::load(kNano).value();
    Detokenizer detokenizer{tokenizer};
};

TEST_F(DetokenizerTest, FourTokensMakeOneEmoji) {
    EXPECT_EQ(detokenizer.push(byte(0xF0)), "");
    EXPECT_EQ(detokenizer.push(byte(0x9F)), "");
    EXPECT_EQ(detokenizer.push(byte(0x91)), "");
    EXPECT_EQ(detokenizer.push(byte(0x8D)), "👍");
    EXPECT_EQ(detokenizer.flush(), "");
}

TEST_F(DetokenizerTest, ACutCharacterIsReplacedOnce) {
    EXPECT_EQ(detokenizer.push(byte('a')), "a");
    EXPECT_EQ(detokenizer.push(byte(0xF0)), "");
    EXPECT_EQ(detokenizer.push(byte(0x9F)), "");
    EXPECT_EQ(detokenizer.flush(), "\uFFFD");
    EXPECT_EQ(detokenizer.flush(), "");
}

TEST_F(DetokenizerTest, BadBytesAreGivenOutAtOnce) {
    EXPECT_EQ(detokenizer.push(byte(0x80)), "\uFFFD");
    EXPECT_EQ(detokenizer.push(byte(0xE4)), "");
    EXPECT_EQ(detokenizer.push(byte('x')), "\uFFFDx");
    EXPECT_EQ(detokenizer.push(byte(0xFF)), "\uFFFD");
}

TEST_F(DetokenizerTest, SpecialTokensAddNothingAndDoNotCut) {
    EXPECT_EQ(detokenizer.push(byte(0xC3)), "");
    EXPECT_EQ(detokenizer.push(1003), "");
    EXPECT_EQ(detokenizer.push(byte(0xA9)), "é");
}

TEST_F(DetokenizerTest, PartsTogetherEqualDecode) {
    std::mt19937 random(5);
    const unsigned char bytes[] = {'a', 0x80, 0xA0, 0xC3, 0xE0, 0xE4, 0xB8, 0xAD, 0xED, 0xF0, 0x9F, 0xF4, 0xFF};
    for (int round = 0; round < 2000; ++round) {
        std::vector<std::int32_t> ids;
        for (unsigned i = random() % 12; i > 0; --i)
            ids.push_back(random() % 4 == 0 ? static_cast<std::int32_t>(random() % 1030)
                                            : byte(bytes[random() % std::size(bytes)]));
        std::string text;
        for (const std::int32_t id : ids) {
            const std::string part = detokenizer.push(id);
            ASSERT_TRUE(is_valid_utf8(part));
            text += part;
        }
        text += detokenizer.flush();
        ASSERT_EQ(text, tokenizer.decode(ids, true)) << testing::PrintToString(ids);
    }
}

}  // namespace
}  // namespace inkstone::text
