// Every filter against its plain definition in double, and the draws against the distribution that it gives
// (chi-square); the numbers of chance against SplitMix64's published ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include "generate/sampler/random.h"
#include "generate/sampler/sampler.h"

namespace inkstone::generate {
namespace {

// What may be drawn, with its probability: the plain definition, one filter after another, everything sorted.
std::map<std::int32_t, double> plain(const SamplerOptions& options, const std::vector<float>& logits) {
    std::vector<std::pair<double, std::int32_t>> kept;  // probability, id
    for (std::size_t id = 0; id < logits.size(); ++id)
        kept.emplace_back(std::exp(double{logits[id]} / double{options.temperature}), static_cast<std::int32_t>(id));
    const auto normalise = [&] {
        double sum = 0;
        for (const auto& [p, id] : kept) sum += p;
        for (auto& [p, id] : kept) p /= sum;
    };
    std::ranges::sort(kept,
                      [](auto a, auto b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
    if (options.top_k > 0) kept.resize(std::min(kept.size(), options.top_k));
    normalise();
    const auto keep_mass = [&](double mass) {
        std::size_t count = 0;
        for (double sum = 0; count < kept.size() && sum < mass; ++count) sum += kept[count].first;
        kept.resize(count);
        normalise();
    };
    if (options.top_p < 1) keep_mass(options.top_p);
    const double least = options.min_p * kept.front().first;
    std::erase_if(kept, [&](const auto& item) { return item.first < least; });
    normalise();
    if (options.tfs < 1 && kept.size() > 2) {
        std::vector<double> curvature;
        for (std::size_t i = 0; i + 2 < kept.size(); ++i)
            curvature.push_back(
                std::abs((kept[i].first - kept[i + 1].first) - (kept[i + 1].first - kept[i + 2].first)));
        const double total = std::accumulate(curvature.begin(), curvature.end(), 0.0);
        double sum = 0;
        for (std::size_t i = 0; i < curvature.size(); ++i)
            if ((sum += curvature[i] / total) > options.tfs) {
                kept.resize(std::max<std::size_t>(i, 1));
                break;
            }
        normalise();
    }
    if (options.typical < 1) {
        double entropy = 0;
        for (const auto& [p, id] : kept) entropy -= p * std::log(p);
        std::ranges::stable_sort(kept, {}, [&](const auto& item) { return std::abs(-std::log(item.first) - entropy); });
        keep_mass(options.typical);
    }
    std::map<std::int32_t, double> distribution;
    for (const auto& [p, id] : kept) distribution[id] = p;
    return distribution;
}

std::vector<float> random_logits(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, 2);
    std::vector<float> logits(count);
    for (float& score : logits) score = normal(random);
    return logits;
}

SamplerOptions sampled(void (*change)(SamplerOptions&)) {
    SamplerOptions options;
    options.do_sample = true;
    change(options);
    return options;
}

const SamplerOptions kCases[] = {
    sampled([](SamplerOptions&) {}),
    sampled([](SamplerOptions& o) { o.temperature = 0.6F; }),
    sampled([](SamplerOptions& o) { o.temperature = 2.5F; }),
    sampled([](SamplerOptions& o) { o.top_k = 7; }),
    sampled([](SamplerOptions& o) { o.top_p = 0.8F; }),
    sampled([](SamplerOptions& o) { o.min_p = 0.1F; }),
    sampled([](SamplerOptions& o) { o.tfs = 0.9F; }),
    sampled([](SamplerOptions& o) { o.typical = 0.7F; }),
    sampled([](SamplerOptions& o) { o.temperature = 1.7F, o.top_k = 30, o.top_p = 0.95F, o.min_p = 0.02F; }),
    sampled([](SamplerOptions& o) { o.top_k = 40, o.top_p = 0.97F, o.tfs = 0.95F, o.typical = 0.9F; }),
};

// Pearson's statistic of `draws` positions; the expected value is the degrees of freedom, its variance twice that.
double excess(const std::map<std::int32_t, double>& expected, const std::map<std::int32_t, int>& found, int draws) {
    double statistic = 0, freedom = -1, rare_expected = 0, rare_found = 0;
    const auto add = [&](double e, double f) {
        statistic += (f - e) * (f - e) / e;
        freedom += 1;
    };
    for (const auto& [id, p] : expected) {
        const auto at = found.find(id);
        const double count = at == found.end() ? 0 : at->second;
        if (p * draws >= 5) {
            add(p * draws, count);
        } else {  // pooled: the statistic is no chi-square where fewer are expected
            rare_expected += p * draws;
            rare_found += count;
        }
    }
    if (rare_expected >= 5) add(rare_expected, rare_found);
    return freedom < 1 ? 0 : (statistic - freedom) / std::sqrt(2 * freedom);
}

TEST(Filters, DrawsFollowThePlainDefinition) {
    constexpr int kDraws = 20000;
    const std::vector<std::int32_t> ids(kDraws, 0);
    const auto logits = random_logits(60, 5);
    std::size_t seen = 0;
    for (std::size_t i = 0; i < std::size(kCases); ++i) {
        const auto expected = plain(kCases[i], logits);
        std::map<std::int32_t, int> by_position, by_seed;
        Sampler sampler(logits.size(), kCases[i], 0);
        for (std::size_t draw = 0; draw < kDraws; ++draw) {
            auto row = logits;
            ++by_position[*sampler.sample(row, std::span(ids).first(draw))];
            SamplerOptions options = kCases[i];
            options.seed = draw;
            Sampler fresh(logits.size(), options, 0);
            ++by_seed[*fresh.sample(row, {})];
        }
        for (const auto* found : {&by_position, &by_seed}) {
            for (const auto& [id, count] : *found) EXPECT_TRUE(expected.contains(id)) << "case " << i << ", id " << id;
            // Six deviations: the draws are fixed, so this passes for ever or never.
            EXPECT_LT(excess(expected, *found, kDraws), 6) << "case " << i;
        }
        // The check sees a distribution that is a little off.
        auto wrong = expected;
        if (wrong.size() > 1) {
            const double moved = 0.2 * wrong.begin()->second;
            wrong.begin()->second -= moved;
            wrong.rbegin()->second += moved;
            if (moved * kDraws > 200) {
                EXPECT_GT(excess(wrong, by_position, kDraws), 6) << "case " << i;
                seen += 1;
            }
        }
    }
    EXPECT_GT(seen, 2U);
}

// Which candidates are left, without chance: of a row of a real vocabulary's size, flat and peaked.
TEST(Filters, KeepWhatTheDefinitionKeeps) {
    for (const std::size_t count : {1U, 2U, 3U, 17U, 1000U, 30000U})
        for (const auto& options : kCases) {
            auto logits = random_logits(count, static_cast<unsigned>(count));
            const auto expected = plain(options, logits);
            SamplerState state;
            state.candidates.gather(logits, *std::ranges::max_element(logits));
            for (const auto& step : filters_of(options)) step->apply(state);
            std::map<std::int32_t, double> kept;
            for (const auto& item : state.candidates.all()) kept[item.id] = 1;
            // At an edge float and double may differ by a candidate or two of many.
            std::size_t differing = 0;
            for (const auto& [id, p] : expected) differing += kept.contains(id) ? 0 : 1;
            for (const auto& [id, p] : kept) differing += expected.contains(id) ? 0 : 1;
            EXPECT_LE(differing, count / 1000 + (count > 100 ? 1 : 0)) << count;
        }
}

TEST(Filters, AlwaysLeaveACandidate) {
    constexpr float kNever = -std::numeric_limits<float>::infinity();
    std::vector<std::vector<float>> rows = {
        {0}, {3, 3, 3, 3}, {kNever, 1, kNever}, {-1e30F, 1e30F}, {0, 200, -200, 200}};
    rows.push_back(random_logits(50, 1));
    for (const float tiny : {1e-30F, 1e-6F, 0.5F})
        for (auto& row : rows) {
            SamplerOptions options = sampled([](SamplerOptions& o) { o.min_p = 1, o.top_k = 1; });
            options.top_p = options.tfs = options.typical = options.temperature = tiny;
            for (options.seed = 0; options.seed < 5; ++options.seed) {
                auto logits = row;
                Sampler sampler(row.size(), options, 0);
                const auto chosen = sampler.sample(logits, {});
                ASSERT_TRUE(chosen.ok());
                EXPECT_EQ(row[static_cast<std::size_t>(*chosen)], *std::ranges::max_element(row));
            }
            options.top_k = 0;
            Sampler sampler(row.size(), options, 0);
            auto logits = row;
            ASSERT_TRUE(sampler.sample(logits, {}).ok());
        }
}

TEST(Filters, TopKTakesTheLowestIdsOfEquals) {
    SamplerOptions options = sampled([](SamplerOptions& o) { o.top_k = 2; });
    for (options.seed = 0; options.seed < 100; ++options.seed) {
        std::vector<float> logits = {1, 2, 2, 2, 1};
        Sampler sampler(logits.size(), options, 0);
        const auto chosen = *sampler.sample(logits, {});
        EXPECT_TRUE(chosen == 1 || chosen == 2);
    }
}

TEST(Random, IsSplitMix64) {
    // The first outputs of the published generator for the state 1234567.
    const std::uint64_t published[] = {6457827717110365317U, 3203168211198807973U, 9817491932198370423U,
                                       4593380528125082431U, 16408922859458223821U};
    for (std::size_t i = 0; i < std::size(published); ++i) EXPECT_EQ(split_mix(1234567, i), published[i]);
}

TEST(Random, SeedsAndPositionsAreApart) {
    // Means of numbers along positions, along seeds, and of products of neighbours.
    constexpr int kCount = 100000;
    double positions = 0, seeds = 0, next_seed = 0, diagonal = 0;
    for (int i = 0; i < kCount; ++i) {
        const auto n = static_cast<std::uint64_t>(i);
        positions += uniform_at(7, n);
        seeds += uniform_at(n, 7);
        next_seed += uniform_at(7, n) * uniform_at(8, n);
        diagonal += uniform_at(7, n + 1) * uniform_at(8, n);
    }
    EXPECT_NEAR(positions / kCount, 0.5, 0.005);
    EXPECT_NEAR(seeds / kCount, 0.5, 0.005);
    EXPECT_NEAR(next_seed / kCount, 0.25, 0.005);
    EXPECT_NEAR(diagonal / kCount, 0.25, 0.005);
}

}  // namespace
}  // namespace inkstone::generate
