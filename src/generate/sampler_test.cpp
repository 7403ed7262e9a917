// The repetition penalty number by number. Expected values are those of transformers' RepetitionPenaltyLogitsProcessor;
// a model's goldens cannot show what happens to negative scores, as the greatest one is never among them.
#include "generate/sampler.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

namespace inkstone::generate {
namespace {

TEST(Sampler, PenaltyLowersSeenScoresOfEitherSignAndEachOnce) {
    Sampler sampler(5, 2.0F);
    sampler.observe(std::array{0, 1, 1});
    sampler.observe(std::array{2, 0});
    std::vector<float> logits = {3.0F, -1.0F, 0.0F, 1.25F, -1.5F};
    EXPECT_EQ(*sampler.select(logits), 0);
    EXPECT_EQ(logits, (std::vector<float>{1.5F, -2.0F, 0.0F, 1.25F, -1.5F}));
}

TEST(Sampler, PenaltyChangesTheChoiceWhenAllScoresAreNegative) {
    Sampler sampler(2, 2.0F);
    sampler.observe(std::array{0});
    std::vector<float> logits = {-1.0F, -1.5F};
    EXPECT_EQ(*sampler.select(logits), 1);
}

TEST(Sampler, PenaltyBelowOneFavoursSeenTokens) {
    Sampler sampler(3, 0.5F);
    sampler.observe(std::array{1, 2});
    std::vector<float> logits = {1.0F, 0.75F, -1.0F};
    EXPECT_EQ(*sampler.select(logits), 1);
    EXPECT_EQ(logits, (std::vector<float>{1.0F, 1.5F, -0.5F}));
}

TEST(Sampler, TakesTheLowestIdAmongEqualScores) {
    const Sampler sampler(4, 1.0F);
    std::vector<float> logits = {0.0F, 2.0F, 2.0F, 1.0F};
    EXPECT_EQ(*sampler.select(logits), 1);
}

TEST(Sampler, RefusesScoresThatOverflowed) {
    const Sampler sampler(3, 1.0F);
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity}) {
        std::vector<float> logits = {0.0F, bad, 1.0F};
        const auto chosen = sampler.select(logits);
        ASSERT_FALSE(chosen.ok());
        EXPECT_EQ(chosen.error().code, ErrorCode::numeric);
    }
    std::vector<float> none(3, -kInfinity);
    EXPECT_FALSE(sampler.select(none).ok());
}

}  // namespace
}  // namespace inkstone::generate
