// Lookahead against plain decoding on a script without tensors: the full product of block sizes, penalties, stop
// tokens, remainders of the context and budgets, by ==. The target keeps its own cache, so a cache that was not cropped
// to what was committed changes its answer.
#include "generate/lookahead.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backend/cpu/cpu_backend.h"
#include "generate/generator.h"

namespace inkstone::generate {
namespace {

constexpr std::size_t kVocabulary = 20;

// Rows of a table with cells that differ now and then: the next token hangs on the last three and on the place.
class Script final : public Target {
public:
    std::size_t steps = 0;

    std::size_t vocabulary() const override { return kVocabulary; }
    std::size_t maximum_rows() const override { return 512; }
    Status reserve(std::size_t, std::size_t) override { return {}; }
    Status step(std::span<const StepRows> batch) override {
        ++steps;
        std::size_t row = 0;
        for (const StepRows& rows : batch) {
            Sequence& sequence = *rows.sequence;
            const std::size_t first = sequence.cached();
            EXPECT_LE(first, cache_.size());
            cache_.resize(first + rows.tokens);
            for (std::size_t i = 0; i < rows.tokens; ++i) {
                EXPECT_EQ(sequence.positions()[first + i], static_cast<std::int32_t>(first + i));
                cache_[first + i] = sequence.ids()[first + i];
                if (i + rows.logits >= rows.tokens) fill(row++, first + i);
            }
            sequence.set_cached(first + rows.tokens);
        }
        return {};
    }
    std::span<float> logits(std::size_t row) override { return logits_[row]; }

private:
    void fill(std::size_t row, std::size_t at) {
        const std::int32_t a = cache_[at], b = at > 0 ? cache_[at - 1] : 0, c = at > 1 ? cache_[at - 2] : 0;
        std::uint32_t random = static_cast<std::uint32_t>(a * 7 + b * 31 + c * 101) * 2654435761U;
        if (at % 11 == 5) random += static_cast<std::uint32_t>(at) * 40503U;
        for (float& score : logits_[row]) {
            random = random * 1664525U + 1013904223U;
            score = static_cast<float>(random >> 16) / 65536.0F - 0.25F;
        }
        logits_[row][static_cast<std::size_t>((a + 1) % 5)] += at % 11 == 5 ? 0.0F : 0.6F;
    }

    std::vector<std::int32_t> cache_;
    std::array<std::array<float, kVocabulary>, kMaximumBlock> logits_{};
};

class OnAScript : public ::testing::Test {
protected:
    static constexpr std::int32_t kPrompt[] = {1, 2, 3, 4, 0, 1, 2};

    Result<GeneratorResult> run(Strategy& strategy, const GeneratorOptions& options) {
        Sequence sequence(pool_, 1);
        for (const std::int32_t id : kPrompt) sequence.append(id);
        auto result = generate(target_, sequence, strategy, options);
        ids_.assign(sequence.ids().begin(), sequence.ids().end());
        return result;
    }

    // Statistics add up, whatever ended the answer.
    static void add_up(const GeneratorResult& result) {
        ASSERT_LE(result.accepted, result.proposed);
        ASSERT_LE(result.emitted, 1 + result.steps + result.accepted);
        ASSERT_GE(result.emitted + 1, 1 + result.steps + result.accepted);
        if (result.finish == Finish::length || result.finish == Finish::context_full) {
            ASSERT_EQ(result.emitted, result.steps + result.accepted + (result.emitted > 0 ? 1 : 0));
        }
    }

    std::unique_ptr<backend::cpu::CpuBackend> backend_ =
        std::move(*backend::cpu::CpuBackend::create(backend::cpu::InstructionSet::portable, 1));
    module::KvPool pool_{*backend_, {1, 1, 16}};
    Script target_;
    std::vector<std::int32_t> ids_;
};

constexpr std::array kPenalties{1.0F, 1.08F, 1.3F};

}  // namespace

TEST_F(OnAScript, TheFullProductGivesThePlainAnswer) {
    std::size_t accepted = 0, rejected = 0, stopped = 0;
    for (const float penalty : kPenalties)
        for (std::int32_t stop = -1; stop < 6; ++stop)
            for (std::size_t remainder = 0; remainder <= 21; ++remainder)
                for (std::size_t budget = 1; budget <= 40; ++budget) {
                    GeneratorOptions options;
                    options.repetition_penalty = penalty;
                    options.max_new_tokens = budget;
                    // The last remainder stands for a context that is never full.
                    options.context_length = remainder == 21 ? 1000 : std::size(kPrompt) + remainder;
                    options.stop_ids = {stop};
                    Autoregressive plain;
                    const auto expected = run(plain, options);
                    ASSERT_TRUE(expected.ok());
                    const auto sequence = ids_;
                    for (std::size_t block = 1; block <= kMaximumBlock; ++block) {
                        Lookahead strategy({block, (budget + block) % 4 == 0});
                        const auto found = run(strategy, options);
                        ASSERT_TRUE(found.ok());
                        ASSERT_EQ(found->ids, expected->ids)
                            << penalty << " " << stop << " " << remainder << " " << budget << " block " << block;
                        ASSERT_EQ(found->finish, expected->finish);
                        ASSERT_EQ(found->last_token, expected->last_token);
                        ASSERT_EQ(found->emitted, expected->emitted);
                        ASSERT_EQ(ids_, sequence);
                        add_up(*found);
                        if (block == 1) {
                            ASSERT_EQ(found->proposed, 0U);
                        }
                        accepted += found->accepted;
                        rejected += found->proposed - found->accepted;
                        stopped += found->finish == Finish::stop && found->accepted > 0 ? 1 : 0;
                    }
                }
    // The product reaches what it is for.
    EXPECT_GT(accepted, 100000U);
    EXPECT_GT(rejected, 100000U);
    EXPECT_GT(stopped, 1000U);
}

// A draw belongs to its seed and position, and penalties count what was accepted so far: a block draws what one token a
// step would have drawn.
TEST_F(OnAScript, DrawnTokensAreThePlainOnes) {
    std::vector<SamplerOptions> samplers(5);
    for (SamplerOptions& sampler : samplers) sampler.do_sample = true;
    samplers[0].temperature = 0.1F;
    samplers[1].top_k = 3;
    samplers[1].temperature = 0.2F;
    samplers[1].repetition_penalty = 1.1F;
    samplers[2].top_p = 0.6F;
    samplers[2].temperature = 0.15F;
    samplers[2].presence_penalty = 0.05F;
    samplers[2].frequency_penalty = 0.02F;
    samplers[3].min_p = 0.5F;
    samplers[3].temperature = 0.15F;
    samplers[3].no_repeat_ngram_size = 9;
    samplers[4].typical = 0.4F;
    samplers[4].tfs = 0.9F;
    samplers[4].temperature = 0.15F;
    std::size_t accepted = 0, rejected = 0, differ = 0;
    for (const SamplerOptions& sampler : samplers)
        for (std::uint64_t seed = 0; seed < 6; ++seed)
            for (const std::size_t budget : {1U, 2U, 17U, 120U}) {
                GeneratorOptions options;
                static_cast<SamplerOptions&>(options) = sampler;
                options.seed = seed;
                options.max_new_tokens = budget;
                options.context_length = 100;
                // An end that the caller sees, also in the middle of a block.
                std::size_t asked = 0;
                options.ended = [&]() -> std::optional<Finish> {
                    return ++asked == 60 + seed ? std::optional(Finish::time_limit) : std::nullopt;
                };
                Autoregressive plain;
                const auto expected = run(plain, options);
                ASSERT_TRUE(expected.ok());
                const auto sequence = ids_;
                for (std::size_t block = 1; block <= kMaximumBlock; ++block) {
                    asked = 0;
                    Lookahead strategy({block, false});
                    const auto found = run(strategy, options);
                    ASSERT_TRUE(found.ok());
                    ASSERT_EQ(found->ids, expected->ids) << "seed " << seed << " block " << block;
                    ASSERT_EQ(found->finish, expected->finish);
                    ASSERT_EQ(ids_, sequence);
                    add_up(*found);
                    accepted += found->accepted;
                    rejected += found->proposed - found->accepted;
                }
                options.do_sample = false;
                options.temperature = 0;
                asked = 0;
                differ += run(plain, options)->ids != expected->ids ? 1 : 0;
            }
    EXPECT_GT(accepted, 1000U);
    EXPECT_GT(rejected, 1000U);
    EXPECT_GT(differ, 60U);  // these are draws
}

TEST_F(OnAScript, TheRepetitionGuardLooksAtEachToken) {
    GeneratorOptions options;
    options.max_new_tokens = 3000;
    options.context_length = 10000;
    for (const std::size_t least : {7U, 16U, 33U}) {
        options.repetition_limits = [&] { return RepetitionLimits{2, least}; };
        Autoregressive plain;
        const auto expected = run(plain, options);
        const auto sequence = ids_;
        for (std::size_t block = 1; block <= kMaximumBlock; ++block) {
            Lookahead strategy({block, false});
            const auto found = run(strategy, options);
            EXPECT_EQ(found->ids, expected->ids) << block;
            EXPECT_EQ(found->finish, expected->finish);
            EXPECT_EQ(found->emitted, expected->emitted);
            EXPECT_EQ(ids_, sequence);
            add_up(*found);
        }
    }
}

TEST_F(OnAScript, ACancelAfterTheProposalSparesTheVerification) {
    class Cancelling final : public Strategy {
    public:
        explicit Cancelling(std::atomic<bool>& cancel) : cancel_(cancel) {}
        std::string_view name() const override { return "cancelling"; }
        std::size_t block_size() const override { return 4; }
        void begin(const Sequence&, std::size_t) override {}
        void cached(const Sequence&, std::size_t, std::size_t) override {}
        Status propose(const Sequence&, std::size_t limit, std::vector<std::int32_t>& candidates) override {
            cancel_ = ++calls_ == 3;
            candidates.assign(limit, 9);
            return {};
        }
        void committed(const Sequence&, const Verification&) override {}

    private:
        std::atomic<bool>& cancel_;
        int calls_ = 0;
    };
    std::atomic<bool> cancel{false};
    GeneratorOptions options;
    options.max_new_tokens = 100;
    options.context_length = 1000;
    options.cancel = &cancel;
    Cancelling strategy(cancel);
    const auto result = run(strategy, options);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::cancelled);
    EXPECT_EQ(target_.steps, 3U);  // the prefill and two verifications
    EXPECT_EQ(ids_.size(), std::size(kPrompt) + 3);
}

TEST_F(OnAScript, AnErrorOfTheStrategyEndsTheGeneration) {
    class Failing final : public Strategy {
    public:
        std::string_view name() const override { return "failing"; }
        void begin(const Sequence&, std::size_t) override {}
        void cached(const Sequence&, std::size_t, std::size_t) override {}
        Status propose(const Sequence&, std::size_t, std::vector<std::int32_t>&) override {
            return Error{ErrorCode::numeric, "draft", "logits", "hold a NaN"};
        }
        void committed(const Sequence&, const Verification&) override {}
    };
    Failing strategy;
    GeneratorOptions options;
    options.max_new_tokens = options.context_length = 100;
    const auto result = run(strategy, options);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().stage, "draft");
}

// Proposals of a Lookahead that is fed by hand.
class Fed : public OnAScript {
protected:
    // Appends the text token by token; steps of r rows take cost(r). Gives the rows of all steps.
    std::size_t feed(Lookahead& lookahead, Sequence& sequence, const std::vector<std::int32_t>& text,
                     double (*cost)(std::size_t)) {
        std::vector<std::int32_t> candidates;
        std::size_t steps = 0, at = 0;
        double ms = 0;
        while (at < text.size()) {
            candidates.clear();
            EXPECT_TRUE(lookahead.propose(sequence, 15, candidates).ok());
            Verification verification{candidates.size(), 0, cost(1 + candidates.size())};
            const std::size_t known = sequence.size();
            std::size_t i = 0;
            while (at < text.size()) {
                const bool matches = i < candidates.size() && candidates[i] == text[at];
                sequence.append(text[at++]);
                if (!matches) break;
                verification.accepted = ++i;
            }
            ms += verification.step_ms;
            ++steps;
            lookahead.cached(sequence, known - 1, 1 + verification.accepted);
            lookahead.committed(sequence, verification);
        }
        ms_ = ms;
        return steps;
    }
    double ms_ = 0;
};

TEST_F(Fed, RepeatedRowsAreProposedWhole) {
    Lookahead lookahead;
    Sequence sequence(pool_, 1);
    sequence.append(1);
    lookahead.begin(sequence, 1000);
    std::vector<std::int32_t> table;
    for (std::int32_t row = 0; row < 20; ++row)
        for (std::int32_t cell = 0; cell < 20; ++cell) table.push_back(cell == 19 ? 100 + row : 50 + cell);
    feed(lookahead, sequence, table, [](std::size_t rows) { return 1.0 + 0.02 * static_cast<double>(rows); });
    EXPECT_LT(ms_, 0.35 * 1.02 * 400);
    EXPECT_LT(lookahead.withheld(), 20U);
}

TEST_F(Fed, ItSwitchesItselfOffWhereItDoesNotPay) {
    // Pairs come back, what follows them does not; a block costs as much as its rows.
    std::vector<std::int32_t> prose;
    std::uint32_t random = 1;
    for (std::size_t i = 0; i < 4000; ++i) {
        random = random * 1664525U + 1013904223U;
        prose.push_back(static_cast<std::int32_t>((random >> 20) % 12));
    }
    for (const auto cost : {+[](std::size_t rows) { return 1.0 + 0.1 * static_cast<double>(rows - 1); },
                            +[](std::size_t rows) { return static_cast<double>(rows); }}) {
        Lookahead lookahead;
        Sequence sequence(pool_, 1);
        sequence.append(1);
        lookahead.begin(sequence, 5000);
        feed(lookahead, sequence, prose, cost);
        EXPECT_LT(ms_, 4000 / 0.95);
        EXPECT_GT(lookahead.withheld(), 1000U);
    }
}

TEST_F(Fed, ACopyRunsOverItsOwnEnd) {
    Lookahead lookahead({16, false});
    Sequence sequence(pool_, 1);
    for (const std::int32_t id : {7, 8, 9, 7, 8}) sequence.append(id);
    lookahead.begin(sequence, 100);
    lookahead.cached(sequence, 0, 4);
    std::vector<std::int32_t> candidates;
    ASSERT_TRUE(lookahead.propose(sequence, 8, candidates).ok());
    EXPECT_EQ(candidates, (std::vector<std::int32_t>{9, 7, 8, 9, 7, 8, 9, 7}));
    // A new answer knows nothing of the old one.
    lookahead.begin(sequence, 100);
    candidates.clear();
    ASSERT_TRUE(lookahead.propose(sequence, 8, candidates).ok());
    EXPECT_TRUE(candidates.empty());
}

}  // namespace inkstone::generate
