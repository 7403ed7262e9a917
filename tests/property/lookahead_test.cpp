// Lookahead on the tiny model: ids equal the plain ones, by ==, in f32 and bf16, on 1 and 2 threads. ctest runs a
// seeded cover in which every pair of settings occurs; the whole product runs on request:
//     property_test --gtest_also_run_disabled_tests --gtest_filter='*LookaheadOnTiny*'
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "generate/lookahead.h"
#include "whole_model.h"

namespace inkstone::testing {
namespace {

using generate::GeneratorOptions;
using generate::GeneratorResult;
using generate::Sequence;

// What varies, and how many values each has.
enum Factor { precision, threads, block, penalty, stop, remainder, budget, prompt_length, factors };
constexpr std::array<std::size_t, factors> kValues{2, 2, 16, 4, 6, 42, 40, 6};
using Setting = std::array<std::size_t, factors>;

// Below 1 it is a reward: the model, which is random, then repeats itself as a table does.
constexpr std::array kPenalties{1.0F, 1.08F, 1.3F, 0.7F};
// 64 positions make a page of the cache: answers begin before, at and behind its end.
constexpr std::array<std::size_t, 6> kPromptLengths{7, 40, 56, 63, 64, 65};

class LookaheadOnTiny : public ::testing::Test {
protected:
    static runtime::Engine& engine(std::size_t of_precision, std::size_t of_threads) {
        auto& engine = engines_[{of_precision, of_threads}];
        if (!engine)
            engine = load_engine(kTiny, static_cast<int>(of_threads) + 1, backend::cpu::best_set(),
                                 of_precision == 1 ? kAllBf16 : runtime::PartPrecisions{});
        return *engine;
    }
    static void TearDownTestSuite() { engines_.clear(); }

    struct Outcome {
        GeneratorResult result;
        std::vector<std::int32_t> sequence;
    };

    static Outcome run(runtime::Engine& engine, generate::Strategy& strategy, const GeneratorOptions& options,
                       std::size_t prompt) {
        module::KvPool pool(engine.backend(), engine.decoder().session().module().graph().kv);
        Sequence sequence(pool, 4);
        for (std::size_t i = 0; i < prompt; ++i)  // a form: rows of five, of which one differs
            sequence.append(static_cast<std::int32_t>(i % 5 == 3 ? 200 + i : 300 + i % 5));
        auto result = generate::generate(engine.decoder(), sequence, strategy, options);
        if (!result.ok()) {
            ADD_FAILURE() << result.error().text();
            return {};
        }
        return {std::move(*result), {sequence.ids().begin(), sequence.ids().end()}};
    }

    static void check(const Setting& setting) {
        runtime::Engine& with = engine(setting[precision], setting[threads]);
        const std::size_t prompt = kPromptLengths[setting[prompt_length]];
        GeneratorOptions options;
        options.repetition_penalty = kPenalties[setting[penalty]];
        options.max_new_tokens = setting[budget] + 1;
        // Half of the contexts are never full.
        options.context_length = setting[remainder] > 20 ? 2048 : prompt + setting[remainder];
        generate::Autoregressive plain;
        if (setting[stop] > 0) {  // a token of the answer; 0: none
            GeneratorOptions whole = options;
            whole.max_new_tokens = 20;
            whole.context_length = 2048;
            options.stop_ids = {run(with, plain, whole, prompt).result.ids[setting[stop] * 4 - 1]};
        }
        const Outcome expected = run(with, plain, options, prompt);
        generate::Lookahead lookahead({setting[block] + 1, false});
        const Outcome found = run(with, lookahead, options, prompt);
        std::string name;
        for (const std::size_t value : setting) name += " " + std::to_string(value);
        ASSERT_EQ(found.result.ids, expected.result.ids) << name;
        ASSERT_EQ(found.result.finish, expected.result.finish) << name;
        ASSERT_EQ(found.result.last_token, expected.result.last_token) << name;
        ASSERT_EQ(found.result.emitted, expected.result.emitted) << name;
        ASSERT_EQ(found.sequence, expected.sequence) << name;
        accepted_ += found.result.accepted;
        rejected_ += found.result.proposed - found.result.accepted;
    }

    static inline std::map<std::pair<std::size_t, std::size_t>, std::unique_ptr<runtime::Engine>> engines_;
    static inline std::size_t accepted_ = 0, rejected_ = 0;
};

// Settings in which each pair of values of each two factors occurs, found greedily from a seed.
std::vector<Setting> pairwise_cover() {
    std::mt19937 random(20261);
    std::set<std::array<std::size_t, 4>> open;  // factor, value, later factor, value
    for (std::size_t a = 0; a < factors; ++a)
        for (std::size_t b = a + 1; b < factors; ++b)
            for (std::size_t x = 0; x < kValues[a]; ++x)
                for (std::size_t y = 0; y < kValues[b]; ++y) open.insert({a, x, b, y});
    std::vector<Setting> cover;
    while (!open.empty()) {
        Setting best{};
        std::size_t most = 0;
        const auto& first = *open.begin();
        for (int trial = 0; trial < 20; ++trial) {
            Setting setting{};
            for (std::size_t f = 0; f < factors; ++f) setting[f] = random() % kValues[f];
            setting[first[0]] = first[1];
            setting[first[2]] = first[3];
            std::size_t covers = 0;
            for (std::size_t a = 0; a < factors; ++a)
                for (std::size_t b = a + 1; b < factors; ++b) covers += open.count({a, setting[a], b, setting[b]});
            if (covers <= most) continue;
            most = covers;
            best = setting;
        }
        for (std::size_t a = 0; a < factors; ++a)
            for (std::size_t b = a + 1; b < factors; ++b) open.erase({a, best[a], b, best[b]});
        cover.push_back(best);
    }
    return cover;
}

}  // namespace

TEST_F(LookaheadOnTiny, EveryPairOfSettingsGivesThePlainIds) {
    const auto cover = pairwise_cover();
    EXPECT_GE(cover.size(), 42U * 40U);  // the two largest factors
    for (const Setting& setting : cover) check(setting);
    EXPECT_GT(accepted_, 300U);
    EXPECT_GT(rejected_, 300U);
}

TEST_F(LookaheadOnTiny, DISABLED_TheWholeProductGivesThePlainIds) {
    Setting setting{};
    for (bool going = true; going;) {
        check(setting);
        if (HasFatalFailure()) return;
        std::size_t f = 0;
        while (f < factors && ++setting[f] == kValues[f]) setting[f++] = 0;
        going = f < factors;
    }
}

}  // namespace inkstone::testing
