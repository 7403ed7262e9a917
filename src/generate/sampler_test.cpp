// Greedy choice and the repetition penalty, as the reference computes them.
#include "generate/sampler.h"

#include <gtest/gtest.h>

#include <limits>

namespace inkstone::generate {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Sampler, TakesTheHighestAndTheLowestIdAmongEquals) {
    const Sampler sampler(4, 1);
    std::vector<float> logits = {1, 3, 3, -2};
    EXPECT_EQ(*sampler.select(logits), 1);
    logits = {-5, -4, -3, -kInfinity};
    EXPECT_EQ(*sampler.select(logits), 2);
}

TEST(Sampler, PenaltyDividesPositiveAndMultipliesNegativeScoresOnce) {
    Sampler sampler(4, 2);
    const std::int32_t seen[] = {1, 3, 1, 1};
    sampler.observe(seen);
    std::vector<float> logits = {2, 3, 1, -1};
    EXPECT_EQ(*sampler.select(logits), 0);  // 3 / 2 falls below 2
    EXPECT_EQ(logits, (std::vector<float>{2, 1.5F, 1, -2}));
    Sampler none(4, 1);
    none.observe(seen);
    logits = {2, 3, 1, -1};
    EXPECT_EQ(*none.select(logits), 1);
    EXPECT_EQ(logits, (std::vector<float>{2, 3, 1, -1}));
}

TEST(Sampler, WhatIsNoNumberIsAnError) {
    const Sampler sampler(4, 1);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<std::vector<float>> bad = {{1, 2, nan, 3}, {nan, 1, 2, 3}, {1, kInfinity, 2, 3}, {}};
    bad.emplace_back(4, -kInfinity);
    for (std::vector<float>& logits : bad) {
        const auto id = sampler.select(logits);
        ASSERT_FALSE(id.ok());
        EXPECT_EQ(id.error().code, ErrorCode::numeric);
    }
    EXPECT_NE(sampler.select(bad[0]).error().message.find("NaN at id 2"), std::string::npos);
}

}  // namespace
}  // namespace inkstone::generate
