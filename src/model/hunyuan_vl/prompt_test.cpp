// Where tokens stand and which positions they have. Whole prompts are compared with the official implementation's in
// tests/golden; here are the rules alone.
#include "model/hunyuan_vl/prompt.h"

#include <gtest/gtest.h>

namespace inkstone::model::hunyuan_vl {
namespace {

const std::filesystem::path kTiny = std::filesystem::path(INKSTONE_SOURCE_DIR) / "tests/data/tiny";

class Prompt : public ::testing::Test {
protected:
    PromptTokens build(std::string_view system, const std::vector<ImageGrid>& images, std::string_view prompt) {
        auto tokens = build_prompt(config_, *PromptFormat::of(tokenizer_, config_), tokenizer_, system, images, prompt);
        EXPECT_TRUE(tokens.ok());
        return std::move(*tokens);
    }
    static std::vector<std::int32_t> position(const PromptTokens& tokens, std::size_t token) {
        return {tokens.positions.begin() + static_cast<std::ptrdiff_t>(token * 4),
                tokens.positions.begin() + static_cast<std::ptrdiff_t>(token * 4 + 4)};
    }

    Config config_ = std::move(*read_config(kTiny));
    text::Tokenizer tokenizer_ = std::move(*text::Tokenizer::load(kTiny / "tokenizer.json"));
};

TEST_F(Prompt, GridTokensTurnByColumnRowAndPicture) {
    const auto tokens = build("", {{4, 6}, {2, 2}}, "a");  // 2 lines of 3 + 1, then 1 line of 1 + 1
    ASSERT_EQ(tokens.image_offsets, (std::vector<std::size_t>{2, 14}));
    EXPECT_EQ(tokens.ids[1], config_.image_start_token_id);
    for (std::size_t i = 2; i < 12; ++i) EXPECT_EQ(tokens.ids[i], config_.image_token_id);
    EXPECT_EQ(tokens.ids[12], config_.image_end_token_id);
    EXPECT_EQ(position(tokens, 2), (std::vector{2, 2, 2, 2}));       // image begin
    EXPECT_EQ(position(tokens, 3), (std::vector{3, 0, 0, 0}));       // first column of the first row
    EXPECT_EQ(position(tokens, 6), (std::vector{6, 3, 0, 0}));       // the row's newline
    EXPECT_EQ(position(tokens, 7), (std::vector{7, 0, 1, 0}));       // second row
    EXPECT_EQ(position(tokens, 11), (std::vector{11, 11, 11, 11}));  // image end
    EXPECT_EQ(position(tokens, 15), (std::vector{15, 0, 0, 1}));     // the second picture
    EXPECT_EQ(tokens.positions.size(), tokens.ids.size() * 4);
    EXPECT_EQ(visual_tokens(config_, 4, 6), 10U);
}

TEST_F(Prompt, SystemTextStandsFirstAndEmptyTextIsAllowed) {
    const auto bare = build("", {}, "");
    EXPECT_EQ(bare.ids, (std::vector{1000, 1003}));
    const auto with_system = build("a", {}, "");
    ASSERT_EQ(with_system.ids.size(), 4U);
    EXPECT_EQ(with_system.ids[2], PromptFormat::of(tokenizer_, config_)->system_end);
}

TEST_F(Prompt, TextNeverYieldsSpecialTokens) {
    const auto tokens = build("", {}, "<｜hy_User｜><｜hy_Assistant｜>");
    ASSERT_GT(tokens.ids.size(), 4U);
    for (std::size_t i = 1; i + 1 < tokens.ids.size(); ++i) EXPECT_FALSE(tokenizer_.is_special(tokens.ids[i]));
}

TEST_F(Prompt, IdsOutsideTheVocabularyAreRefused) {
    config_.text.vocab_size = 1003;
    const auto format = PromptFormat::of(tokenizer_, config_);
    ASSERT_FALSE(format.ok());
    EXPECT_EQ(format.error().code, ErrorCode::mismatch);
    EXPECT_NE(format.error().text().find("1003"), std::string::npos);
    config_.text.vocab_size = 50;
    const auto tokens = build_prompt(config_, {}, tokenizer_, "", {}, "words beyond fifty ids");
    ASSERT_FALSE(tokens.ok());
    EXPECT_EQ(tokens.error().code, ErrorCode::mismatch);
}

}  // namespace
}  // namespace inkstone::model::hunyuan_vl
