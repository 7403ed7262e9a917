// Penalties number by number, positions in any order, and what greedy refuses. Expected values of the repetition
// penalty are those of transformers' RepetitionPenaltyLogitsProcessor; a model's goldens cannot show what happens to
// negative scores, as the greatest one is never among them.
#include "generate/sampler/sampler.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace inkstone::generate {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

SamplerOptions penalty_of(float repetition) {
    SamplerOptions options;
    options.repetition_penalty = repetition;
    return options;
}

// What a sampler of these options chooses after `ids`, and what it makes of the logits.
std::int32_t choose(const SamplerOptions& options, std::vector<float>& logits, const std::vector<std::int32_t>& ids,
                    std::size_t prompt = 0) {
    Sampler sampler(logits.size(), options, prompt);
    const auto chosen = sampler.sample(logits, ids);
    EXPECT_TRUE(chosen.ok()) << (chosen.ok() ? "" : chosen.error().text());
    return chosen.ok() ? *chosen : -1;
}

TEST(Sampler, PenaltyLowersSeenScoresOfEitherSignAndEachOnce) {
    std::vector<float> logits = {3.0F, -1.0F, 0.0F, 1.25F, -1.5F};
    EXPECT_EQ(choose(penalty_of(2.0F), logits, {0, 1, 1, 2, 0}, 3), 0);
    EXPECT_EQ(logits, (std::vector<float>{1.5F, -2.0F, 0.0F, 1.25F, -1.5F}));
}

TEST(Sampler, PenaltyChangesTheChoiceWhenAllScoresAreNegative) {
    std::vector<float> logits = {-1.0F, -1.5F};
    EXPECT_EQ(choose(penalty_of(2.0F), logits, {0}), 1);
}

TEST(Sampler, PenaltyBelowOneFavoursSeenTokens) {
    std::vector<float> logits = {1.0F, 0.75F, -1.0F};
    EXPECT_EQ(choose(penalty_of(0.5F), logits, {1, 2}), 1);
    EXPECT_EQ(logits, (std::vector<float>{1.0F, 1.5F, -0.5F}));
}

TEST(Sampler, PresenceAndFrequencyCountTheAnswerAlone) {
    SamplerOptions options;
    options.presence_penalty = 0.5F;
    options.frequency_penalty = 0.25F;
    std::vector<float> logits = {1.0F, 1.0F, 1.0F, -1.0F};
    choose(options, logits, {0, 1, 1, 3, 3, 3}, 2);  // prompt 0, 1; answer 1, 3, 3, 3
    EXPECT_EQ(logits, (std::vector<float>{1.0F, 0.25F, 1.0F, -2.25F}));
    options.presence_penalty = 0;
    options.frequency_penalty = -1;
    logits = {0.0F, 0.0F, 0.0F, 0.0F};
    EXPECT_EQ(choose(options, logits, {2, 2}, 0), 2);
    EXPECT_EQ(logits[2], 2.0F);
}

TEST(Sampler, NoRepeatNgramBansWhatWouldCompleteOne) {
    SamplerOptions options;
    options.no_repeat_ngram_size = 3;
    const auto banned_after = [&](const std::vector<std::int32_t>& ids) {
        std::vector<float> logits(6, 1.0F);
        choose(options, logits, ids, 2);
        std::vector<std::int32_t> banned;
        for (std::int32_t id = 0; id < 6; ++id)
            if (logits[static_cast<std::size_t>(id)] == kNever) banned.push_back(id);
        return banned;
    };
    using Ids = std::vector<std::int32_t>;
    EXPECT_EQ(banned_after({}), Ids{});
    EXPECT_EQ(banned_after({1}), Ids{});
    EXPECT_EQ(banned_after({1, 2, 3, 1, 2}), Ids{3});
    EXPECT_EQ(banned_after({1, 2, 3, 1, 2, 4, 1, 2}), (Ids{3, 4}));
    EXPECT_EQ(banned_after({1, 1, 1}), Ids{1});
    EXPECT_EQ(banned_after({1, 2, 3, 2, 1}), Ids{});
    options.no_repeat_ngram_size = 1;
    EXPECT_EQ(banned_after({5, 0}), (Ids{0, 5}));
}

TEST(Sampler, BiasAndBannedIds) {
    SamplerOptions options;
    options.logit_bias = {{2, 1.5F}, {0, -4.0F}};
    options.banned_ids = {1};
    std::vector<float> logits = {3.0F, 5.0F, 1.0F, 0.0F};
    EXPECT_EQ(choose(options, logits, {}), 2);
    EXPECT_EQ(logits, (std::vector<float>{-1.0F, kNever, 2.5F, 0.0F}));
    options.do_sample = true;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        options.seed = seed;
        logits = {0.0F, 30.0F, 0.0F, 0.0F};
        EXPECT_NE(choose(options, logits, {}), 1);
    }
}

TEST(Sampler, TakesTheLowestIdAmongEqualScores) {
    std::vector<float> logits = {0.0F, 2.0F, 2.0F, 1.0F};
    EXPECT_EQ(choose({}, logits, {}), 1);
}

TEST(Sampler, TemperatureZeroIsGreedy) {
    SamplerOptions options;
    options.do_sample = true;
    options.temperature = 0;
    for (options.seed = 0; options.seed < 50; ++options.seed) {
        std::vector<float> logits = {1.0F, 1.001F, 1.0F};
        EXPECT_EQ(choose(options, logits, {}), 1);
    }
}

// Positions of a block, sampled forwards, backwards, twice, or after other candidates: each choice is that of a sampler
// which was made for it alone.
TEST(Sampler, AChoiceDependsOnTheIdsBeforeItAndNotOnEarlierCalls) {
    constexpr std::size_t kVocabulary = 40, kPrompt = 5, kLength = 60;
    SamplerOptions options;
    options.do_sample = true;
    options.repetition_penalty = 1.3F;
    options.presence_penalty = 0.2F;
    options.frequency_penalty = 0.4F;
    options.no_repeat_ngram_size = 4;
    options.top_k = 20;
    options.top_p = 0.9F;
    options.seed = 77;
    std::mt19937 random(3);
    std::vector<std::int32_t> ids(kLength);
    for (auto& id : ids) id = static_cast<std::int32_t>(random() % 6);
    std::vector<std::vector<float>> rows(kLength, std::vector<float>(kVocabulary));
    for (auto& row : rows)
        for (float& score : row) score = static_cast<float>(random() % 1000) / 250.0F;
    std::vector<std::int32_t> alone(kLength);
    for (std::size_t i = kPrompt; i < kLength; ++i) {
        auto row = rows[i];
        Sampler sampler(kVocabulary, options, kPrompt);
        alone[i] = *sampler.sample(row, std::span(ids).first(i));
    }
    EXPECT_GT(std::set<std::int32_t>(alone.begin() + kPrompt, alone.end()).size(), 10U);
    Sampler sampler(kVocabulary, options, kPrompt);
    for (int call = 0; call < 2000; ++call) {
        const std::size_t at = kPrompt + random() % (kLength - kPrompt);
        auto row = rows[at];
        if (random() % 3 == 0) {  // a draft that is thrown away
            auto draft = ids;
            for (std::size_t i = kPrompt; i < at; ++i) draft[i] = static_cast<std::int32_t>(random() % kVocabulary);
            ASSERT_TRUE(sampler.sample(row, std::span(draft).first(at)).ok());
            row = rows[at];
        }
        ASSERT_EQ(*sampler.sample(row, std::span(ids).first(at)), alone[at]) << at;
    }
}

TEST(Sampler, RefusesScoresThatOverflowed) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (const bool sampled : {false, true}) {
        SamplerOptions options;
        options.do_sample = sampled;
        options.top_k = 2;
        options.banned_ids = {1};
        Sampler sampler(3, options, 0);
        for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity}) {
            std::vector<float> logits = {0.0F, 0.0F, bad};
            const auto chosen = sampler.sample(logits, {});
            ASSERT_FALSE(chosen.ok());
            EXPECT_EQ(chosen.error().code, ErrorCode::numeric);
        }
        std::vector<float> hidden = {0.0F, std::numeric_limits<float>::quiet_NaN(), 1.0F};  // of a banned id
        const auto chosen = sampler.sample(hidden, {});
        ASSERT_FALSE(chosen.ok());
        EXPECT_NE(chosen.error().message.find("id 1"), std::string::npos);
        std::vector<float> none(3, -kInfinity);
        EXPECT_FALSE(sampler.sample(none, {}).ok());
    }
}

TEST(SamplerOptions, WhatIsOutOfRangeIsNamed) {
    const auto subject = [](auto change) {
        SamplerOptions options;
        change(options);
        const Status status = check(options, 10);
        return status.ok() ? std::string() : status.error().subject;
    };
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const float bad : {-1.0F, 101.0F, nan})
        EXPECT_EQ(subject([&](SamplerOptions& o) { o.temperature = bad; }), "temperature");
    for (const float bad : {0.0F, -0.5F, 1.5F, nan}) {
        EXPECT_EQ(subject([&](SamplerOptions& o) { o.top_p = bad; }), "top_p");
        EXPECT_EQ(subject([&](SamplerOptions& o) { o.tfs = bad; }), "tfs");
        EXPECT_EQ(subject([&](SamplerOptions& o) { o.typical = bad; }), "typical");
    }
    for (const float bad : {-0.5F, 1.5F, nan}) EXPECT_EQ(subject([&](SamplerOptions& o) { o.min_p = bad; }), "min_p");
    for (const float bad : {0.0F, -1.0F, 1001.0F, nan})
        EXPECT_EQ(subject([&](SamplerOptions& o) { o.repetition_penalty = bad; }), "repetition_penalty");
    for (const float bad : {-101.0F, 101.0F, nan}) {
        EXPECT_EQ(subject([&](SamplerOptions& o) { o.presence_penalty = bad; }), "presence_penalty");
        EXPECT_EQ(subject([&](SamplerOptions& o) { o.frequency_penalty = bad; }), "frequency_penalty");
        EXPECT_EQ(subject([&](SamplerOptions& o) { o.logit_bias = {{1, bad}}; }), bad == bad ? "" : "logit_bias");
    }
    for (const std::int32_t bad : {-1, 10}) {
        EXPECT_EQ(subject([&](SamplerOptions& o) { o.logit_bias = {{bad, 1.0F}}; }), "logit_bias");
        EXPECT_EQ(subject([&](SamplerOptions& o) { o.banned_ids = {bad}; }), "banned_ids");
    }
    EXPECT_EQ(subject([](SamplerOptions&) {}), "");
}

TEST(SamplerOptions, EveryKindKeepsItsOwnSteps) {
    SamplerOptions all;
    all.seed = 5;
    all.temperature = 0.5F;
    all.top_k = 3;
    all.top_p = 0.9F;
    all.min_p = 0.1F;
    all.tfs = 0.8F;
    all.typical = 0.7F;
    all.repetition_penalty = 1.1F;
    all.presence_penalty = 0.3F;
    all.banned_ids = {4};
    const struct {
        const char* name;
        std::size_t penalties, filters;
    } kinds[] = {{"greedy", 1, 0}, {"temperature", 1, 1}, {"topK", 1, 2},    {"topP", 1, 2}, {"minP", 1, 2},
                 {"tfs", 1, 2},    {"typical", 1, 2},     {"penalty", 3, 1}, {"mixed", 3, 6}};
    for (const auto& [name, penalties, filters] : kinds) {
        const auto kind = sampler_kind(name);
        ASSERT_TRUE(kind) << name;
        EXPECT_EQ(name_of(*kind), name);
        const SamplerOptions options = of_kind(*kind, all);
        EXPECT_EQ(penalties_of(options).size(), penalties) << name;
        EXPECT_EQ(filters_of(options).size(), filters) << name;
        EXPECT_EQ(options.greedy(), std::string(name) == "greedy");
        EXPECT_EQ(options.seed, 5U);
    }
    EXPECT_EQ(of_kind(SamplerKind::top_k, all).top_k, 3U);
    EXPECT_EQ(of_kind(SamplerKind::top_p, all).top_p, 0.9F);
    EXPECT_EQ(of_kind(SamplerKind::min_p, all).min_p, 0.1F);
    EXPECT_EQ(of_kind(SamplerKind::tfs, all).tfs, 0.8F);
    EXPECT_EQ(of_kind(SamplerKind::typical, all).typical, 0.7F);
    EXPECT_FALSE(sampler_kind("topk"));
}

}  // namespace
}  // namespace inkstone::generate
