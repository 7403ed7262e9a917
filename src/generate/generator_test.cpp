// The generation loop on a scripted target: a graph without attention whose logits after token i point at next[i].
// Loops, stop ids, budgets and callbacks, with nothing random about them.
#include "generate/generator.h"

#include <gtest/gtest.h>

#include <cstring>

#include "backend/cpu/cpu_backend.h"
#include "generate/decoder.h"
#include "graph/graph.h"

namespace inkstone::generate {
namespace {

constexpr std::size_t kVocabulary = 512;
constexpr std::int32_t kStop = 511;

// next[i]: what follows token i.
class ScriptedTarget {
public:
    explicit ScriptedTarget(const std::vector<std::int32_t>& next) : table_(kVocabulary * kVocabulary, 0.0F) {
        for (std::size_t i = 0; i < next.size(); ++i)
            table_[i * kVocabulary + static_cast<std::size_t>(next[i])] = 1.0F;
        graph::Builder g;
        const auto ids = g.input("ids", ops::Rows::token, 1, graph::ElementType::i32);
        g.input("positions", ops::Rows::token, 1, graph::ElementType::i32);
        const auto visual = g.input("visual", ops::Rows::token, 1, graph::ElementType::pointer);
        const auto rows = g.input("logit_rows", ops::Rows::logit, 1, graph::ElementType::i32);
        const tensor::TensorView view{
            tensor::DataType::f32, {kVocabulary, kVocabulary}, std::as_bytes(std::span(table_))};
        const auto table = g.matrix("next", view, kVocabulary, kVocabulary);
        g.output("logits", g.gather_rows(g.scatter_rows(g.embedding(ids, table), visual), rows));
        backend_ = std::move(*backend::cpu::CpuBackend::create(backend::cpu::InstructionSet::portable, 1));
        auto module = module::Module::create(std::move(*std::move(g).finish()), *backend_);
        EXPECT_TRUE(module.ok()) << (module.ok() ? "" : module.error().text());
        pool_ = std::make_unique<module::KvPool>(*backend_, (*module)->graph().kv);
        decoder_ = std::move(*Decoder::create(*module));
    }

    GeneratorResult run(GeneratorOptions options, std::int32_t first = 0) {
        options.stop_ids = {kStop};
        if (options.context_length == 0) options.context_length = 100000;
        Sequence sequence(*pool_, 1);
        sequence.append(first);
        Autoregressive strategy;
        auto result = generate(*decoder_, sequence, strategy, options);
        EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().text());
        EXPECT_EQ(sequence.size(), result->ids.size() + 1);
        EXPECT_TRUE(std::ranges::equal(sequence.ids().subspan(1), result->ids));
        EXPECT_LE(sequence.cached(), sequence.size());
        return std::move(*result);
    }

private:
    std::vector<float> table_;
    std::unique_ptr<backend::cpu::CpuBackend> backend_;
    std::unique_ptr<module::KvPool> pool_;
    std::unique_ptr<Decoder> decoder_;
};

// 0, 1, 2, ..., prefix - 1, then the unit prefix ... prefix + unit - 1 over and over.
std::vector<std::int32_t> loop_of(std::size_t prefix, std::size_t unit) {
    std::vector<std::int32_t> next(kVocabulary);
    for (std::size_t i = 0; i < kVocabulary; ++i)
        next[i] = static_cast<std::int32_t>(i + 1 < prefix + unit ? i + 1 : prefix);
    return next;
}

GeneratorOptions guarded(std::size_t max_new_tokens) {
    GeneratorOptions options;
    options.max_new_tokens = max_new_tokens;
    options.repetition_limits = [] { return RepetitionLimits{}; };
    return options;
}

}  // namespace

TEST(Generator, EndsALoopAndKeepsOneCopy) {
    for (const std::size_t unit : {1U, 3U, 40U, 200U}) {
        ScriptedTarget target(loop_of(30, unit));
        std::size_t seen = 0;
        GeneratorOptions options = guarded(20000);
        options.on_token = [&](std::int32_t) { return ++seen < 20000; };
        const auto result = target.run(options);
        EXPECT_EQ(result.finish, Finish::repetition) << unit;
        // Tokens 1 ... 29 and one copy of the unit.
        EXPECT_EQ(result.ids.size(), 29 + unit) << unit;
        for (std::size_t i = 0; i < result.ids.size(); ++i) EXPECT_EQ(result.ids[i], static_cast<std::int32_t>(i + 1));
        EXPECT_EQ(seen, 29 + std::max<std::size_t>(128, 8 * unit)) << unit;
    }
}

TEST(Generator, WithoutTheGuardALoopRunsToItsBudget) {
    ScriptedTarget target(loop_of(3, 2));
    GeneratorOptions options;
    options.max_new_tokens = 700;
    const auto result = target.run(options);
    EXPECT_EQ(result.finish, Finish::length);
    EXPECT_EQ(result.ids.size(), 700U);
}

TEST(Generator, LimitsMayChangeAsTheAnswerGrows) {
    // As inside a table: 42 tokens a row, a hundred equal rows are real text.
    ScriptedTarget target(loop_of(10, 42));
    GeneratorOptions options = guarded(4000);
    options.repetition_limits = [] { return RepetitionLimits{8, 4096}; };
    EXPECT_EQ(target.run(options).finish, Finish::length);
    options.max_new_tokens = 20000;
    EXPECT_EQ(target.run(options).finish, Finish::repetition);
}

TEST(Generator, StopBudgetContextAndCaller) {
    std::vector<std::int32_t> next(kVocabulary);
    for (std::size_t i = 0; i < kVocabulary; ++i)
        next[i] = static_cast<std::int32_t>(i == 50 ? kStop : (i + 1) % kVocabulary);
    ScriptedTarget target(next);
    GeneratorOptions options = guarded(1000);
    const auto stopped = target.run(options);
    EXPECT_EQ(stopped.finish, Finish::stop);
    EXPECT_EQ(stopped.ids.size(), 50U);
    EXPECT_EQ(stopped.last_token, kStop);
    for (std::size_t budget = 1; budget <= 40; ++budget) {
        options.max_new_tokens = budget;
        const auto result = target.run(options);
        EXPECT_EQ(result.finish, Finish::length);
        EXPECT_EQ(result.ids.size(), budget);
    }
    options.max_new_tokens = 1000;
    options.context_length = 21;
    const auto full = target.run(options);
    EXPECT_EQ(full.finish, Finish::context_full);
    EXPECT_EQ(full.ids.size(), 20U);
    options.context_length = 0;
    options.on_token = [](std::int32_t id) { return id < 7; };
    const auto cancelled = target.run(options);
    EXPECT_EQ(cancelled.finish, Finish::cancelled);
    EXPECT_EQ(cancelled.ids.size(), 7U);
}

}  // namespace inkstone::generate
