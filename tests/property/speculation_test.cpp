// Speculative verification: whatever a strategy proposes, the answer is the autoregressive one, token for token and
// with the same finish, under every penalty, at every length, stop token and remainder of the context.
#include <algorithm>
#include <random>

#include "whole_model.h"

namespace inkstone::testing {
namespace {

using generate::Finish;
using generate::GeneratorOptions;
using generate::GeneratorResult;
using generate::Sequence;

enum class Draft { wrong, random, perfect, mixed };

// Knows the answer beforehand and proposes it, or something else.
class Scripted final : public generate::Strategy {
public:
    Scripted(Draft draft, std::vector<std::int32_t> answer, std::size_t prompt)
        : draft_(draft), answer_(std::move(answer)), prompt_(prompt) {}
    std::string_view name() const override { return "scripted"; }
    std::size_t block_size() const override { return generate::kMaximumBlock; }
    void begin(const Sequence&, std::size_t) override {}
    void cached(const Sequence&, std::size_t, std::size_t) override {}
    Status propose(const Sequence& sequence, std::size_t limit, std::vector<std::int32_t>& candidates) override {
        EXPECT_TRUE(candidates.empty());
        const std::size_t count = draft_ == Draft::random ? random_() % (limit + 1) : limit;
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t at = sequence.size() - prompt_ + i;
            const std::int32_t right = at < answer_.size() ? answer_[at] : 7;
            const bool tells = draft_ == Draft::perfect || (draft_ == Draft::mixed && (random_() % 4 != 0));
            const std::int32_t other = (right + 1 + static_cast<std::int32_t>(random_() % 900)) % 1000;
            candidates.push_back(tells                     ? right
                                 : draft_ == Draft::random ? static_cast<std::int32_t>(random_() % 1000)
                                 : other == right          ? right + 1
                                                           : other);
        }
        return {};
    }
    void committed(const Sequence&, const generate::Verification&) override {}

private:
    Draft draft_;
    std::vector<std::int32_t> answer_;
    std::size_t prompt_;
    std::mt19937 random_{5};
};

class Speculation : public ::testing::Test {
protected:
    static void SetUpTestSuite() { engine_ = load_engine(kTiny, 1); }
    static void TearDownTestSuite() { engine_.reset(); }

    struct Outcome {
        GeneratorResult result;
        std::vector<std::int32_t> sequence;
        std::size_t cached = 0;
        std::vector<std::int32_t> continuation;  // what a second call appends to the sequence that the first one left
    };

    static Outcome run(generate::Strategy& strategy, const GeneratorOptions& options, bool go_on = false) {
        module::KvPool pool(engine_->backend(), engine_->decoder().session().module().graph().kv);
        Sequence sequence(pool, 4);
        for (const std::int32_t id : kPrompt) sequence.append(id);
        auto result = generate::generate(engine_->decoder(), sequence, strategy, options);
        if (!result.ok()) {
            ADD_FAILURE() << result.error().text();
            return {};
        }
        Outcome outcome{std::move(*result), {sequence.ids().begin(), sequence.ids().end()}, sequence.cached(), {}};
        if (go_on) {
            GeneratorOptions more = options;
            more.max_new_tokens = 4;
            more.context_length = 2048;
            generate::Autoregressive plain;
            outcome.continuation = generate::generate(engine_->decoder(), sequence, plain, more)->ids;
        }
        return outcome;
    }

    // Every draft against the autoregressive answer.
    static void check(const GeneratorOptions& options, bool go_on = false) {
        GeneratorOptions all = options;
        all.max_new_tokens = 40;
        all.context_length = 2048;
        all.stop_ids.clear();
        generate::Autoregressive plain;
        const auto known = run(plain, all).result.ids;
        const Outcome expected = run(plain, options, go_on);
        for (const Draft draft : {Draft::wrong, Draft::random, Draft::perfect, Draft::mixed}) {
            SCOPED_TRACE("draft " + std::to_string(static_cast<int>(draft)) + ", penalty " +
                         std::to_string(options.repetition_penalty) + ", max_new_tokens " +
                         std::to_string(options.max_new_tokens) + ", context " +
                         std::to_string(options.context_length));
            Scripted strategy(draft, known, std::size(kPrompt));
            const Outcome found = run(strategy, options, go_on);
            EXPECT_EQ(found.result.ids, expected.result.ids);
            EXPECT_EQ(found.result.finish, expected.result.finish);
            EXPECT_EQ(found.result.last_token, expected.result.last_token);
            EXPECT_EQ(found.sequence, expected.sequence);
            EXPECT_EQ(found.continuation, expected.continuation);
            EXPECT_LE(found.cached, found.sequence.size());
            EXPECT_LE(found.result.accepted, found.result.proposed);
            // The first token comes from the prefill, each step adds its own token unless an accepted one ended it.
            EXPECT_LE(found.result.ids.size(), 1 + found.result.steps + found.result.accepted);
            if (draft == Draft::wrong) {
                EXPECT_EQ(found.result.accepted, 0U);
                EXPECT_EQ(found.result.steps, expected.result.steps);
            }
            if (draft == Draft::perfect && found.result.ids.size() == 40) {
                EXPECT_EQ(found.result.steps, 3U);  // 1 + 16 + 16 + 7
            }
        }
    }

    static constexpr std::int32_t kPrompt[] = {1000, 300, 4, 77, 300, 512, 1003};
    static inline std::unique_ptr<runtime::Engine> engine_;
};

constexpr float kPenalties[] = {1.0F, 1.08F, 1.3F};

GeneratorOptions options_of(float penalty, std::size_t max_new_tokens) {
    GeneratorOptions options;
    options.repetition_penalty = penalty;
    options.max_new_tokens = max_new_tokens;
    options.context_length = 2048;
    return options;
}

TEST_F(Speculation, EveryLength) {
    for (const float penalty : kPenalties)
        for (std::size_t length = 0; length <= 20; ++length) check(options_of(penalty, length));
    check(options_of(1.0F, 40));
}

TEST_F(Speculation, EveryRemainderOfTheContext) {
    for (const float penalty : kPenalties)
        for (std::size_t remainder = 0; remainder <= 20; ++remainder) {
            GeneratorOptions options = options_of(penalty, 100);
            options.context_length = std::size(kPrompt) + remainder;
            check(options);
            generate::Autoregressive plain;
            const Outcome outcome = run(plain, options);
            EXPECT_EQ(outcome.result.ids.size(), remainder);
            EXPECT_EQ(outcome.result.finish, Finish::context_full);
        }
}

TEST_F(Speculation, AStopTokenInsideAnAcceptedBlock) {
    generate::Autoregressive plain;
    for (const float penalty : kPenalties) {
        const auto known = run(plain, options_of(penalty, 24)).result.ids;
        for (const std::size_t at : {0U, 1U, 2U, 9U, 15U, 16U, 17U, 23U}) {
            GeneratorOptions options = options_of(penalty, 30);
            options.stop_ids = {999, known[at]};
            check(options, true);
            const Outcome outcome = run(plain, options);
            EXPECT_EQ(outcome.result.finish, Finish::stop);
            EXPECT_EQ(outcome.result.last_token, known[at]);
            EXPECT_EQ(std::ranges::count(outcome.result.ids, known[at]), 0);
        }
    }
}

// Takes a fixed number of right candidates of each block, the rest are wrong.
class Rejected final : public generate::Strategy {
public:
    Rejected(std::size_t right, std::vector<std::int32_t> answer, std::size_t prompt)
        : right_(right), answer_(std::move(answer)), prompt_(prompt) {}
    std::string_view name() const override { return "rejected"; }
    std::size_t block_size() const override { return generate::kMaximumBlock; }
    void begin(const Sequence&, std::size_t) override {}
    void cached(const Sequence& sequence, std::size_t first, std::size_t rows) override {
        EXPECT_EQ(first, next_);  // no gap and no token twice
        next_ = first + rows;
        EXPECT_LE(next_, sequence.size());
    }
    Status propose(const Sequence& sequence, std::size_t limit, std::vector<std::int32_t>& candidates) override {
        EXPECT_EQ(next_ + 1, sequence.size());
        for (std::size_t i = 0; i < limit; ++i) {
            const std::int32_t id = answer_[sequence.size() - prompt_ + i];
            candidates.push_back(i < right_ ? id : (id + 1) % 1000);
        }
        return {};
    }
    void committed(const Sequence&, const generate::Verification& verification) override {
        EXPECT_EQ(verification.accepted, std::min(right_, verification.proposed));
    }

private:
    std::size_t right_;
    std::vector<std::int32_t> answer_;
    std::size_t prompt_, next_ = 0;
};

TEST_F(Speculation, EveryCountOfRejectsAcrossThePagesOfTheCache) {
    // Blocks of 16 begin at every place before the end of a page of 64 positions, and go on past the next page.
    for (std::size_t prompt = 48; prompt <= 64; ++prompt) {
        const auto answer = [&](generate::Strategy& strategy, std::size_t tokens) {
            module::KvPool pool(engine_->backend(), engine_->decoder().session().module().graph().kv);
            Sequence sequence(pool, 4);
            for (std::size_t i = 0; i < prompt; ++i) sequence.append(static_cast<std::int32_t>(7 * i % 1000));
            auto result = generate::generate(engine_->decoder(), sequence, strategy, options_of(1.08F, tokens));
            EXPECT_TRUE(result.ok());
            for (std::size_t i = 0; i < sequence.size() * 4; ++i)
                EXPECT_EQ(sequence.positions()[i], static_cast<std::int32_t>(i / 4));
            return result->ids;
        };
        generate::Autoregressive plain;
        const auto known = answer(plain, 90);
        for (std::size_t right = 0; right <= 15; ++right) {
            Rejected strategy(right, known, prompt);
            EXPECT_EQ(answer(strategy, 90), known) << right << " of 15 are right, after " << prompt;
        }
    }
}

TEST_F(Speculation, TheCallerEndsItInsideABlock) {
    for (const std::size_t at : {1U, 2U, 9U, 17U}) {
        GeneratorOptions options = options_of(1.08F, 30);
        std::size_t seen = 0;
        options.on_token = [&](std::int32_t) { return ++seen % at != 0; };
        generate::Autoregressive plain;
        const auto known = run(plain, options_of(1.08F, 30)).result.ids;
        Scripted strategy(Draft::perfect, known, std::size(kPrompt));
        const Outcome outcome = run(strategy, options);
        EXPECT_EQ(outcome.result.finish, Finish::cancelled);
        EXPECT_EQ(outcome.result.ids, std::vector<std::int32_t>(known.begin(), known.begin() + at));
        EXPECT_EQ(seen, at);
    }
}

TEST_F(Speculation, AfterACancelledStepTheSequenceHoldsNoCandidates) {
    module::KvPool pool(engine_->backend(), engine_->decoder().session().module().graph().kv);
    Sequence sequence(pool, 4);
    for (const std::int32_t id : kPrompt) sequence.append(id);
    GeneratorOptions options = options_of(1.0F, 30);
    std::atomic<bool> cancel{false};
    std::size_t seen = 0;
    options.on_token = [&](std::int32_t) {
        cancel = ++seen == 2;
        return true;
    };
    engine_->backend().set_cancel(&cancel);
    Scripted strategy(Draft::wrong, {}, std::size(kPrompt));
    const auto result = generate::generate(engine_->decoder(), sequence, strategy, options);
    engine_->backend().set_cancel(nullptr);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::cancelled);
    EXPECT_EQ(sequence.size(), std::size(kPrompt) + 2);
}

}  // namespace
}  // namespace inkstone::testing
