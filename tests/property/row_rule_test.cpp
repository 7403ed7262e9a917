// The row rule on whole models: a token's logits have the same bits whatever threads, kernels, chunks of the prompt or
// neighbours in the step they are computed with. Every comparison is ==.
#include <algorithm>
#include <map>

#include "whole_model.h"

namespace inkstone::testing {
namespace {

using backend::cpu::InstructionSet;
using generate::Sequence;
using generate::StepRows;

// Logits of every token of a prompt, fed in chunks.
std::vector<float> logits_in_chunks(runtime::Engine& engine, const Prepared& prompt, std::size_t chunk) {
    generate::Decoder& decoder = engine.decoder();
    module::KvPool pool(engine.backend(), decoder.session().module().graph().kv);
    Sequence sequence(pool, 4);
    prompt.append_to(sequence);
    std::vector<float> logits;
    while (sequence.cached() < sequence.size()) {
        const std::size_t tokens = std::min(chunk, sequence.size() - sequence.cached());
        const StepRows rows{&sequence, tokens, tokens};
        EXPECT_TRUE(decoder.step({&rows, 1}).ok());
        const auto part = copy_logits(decoder, tokens);
        logits.insert(logits.end(), part.begin(), part.end());
    }
    return logits;
}

struct Package {
    std::string name;
    std::filesystem::path folder;
    std::vector<std::string> pictures;  // prompts of more than one block of 64 positions
    runtime::PartPrecisions precision = {};
};
std::ostream& operator<<(std::ostream& out, const Package& package) { return out << package.name; }

class RowRule : public ::testing::TestWithParam<Package> {
protected:
    // Engines are shared by the tests of a package.
    runtime::Engine& engine(int threads = 1, InstructionSet set = backend::cpu::best_set()) {
        static std::map<std::string, std::unique_ptr<runtime::Engine>> engines;
        auto& engine = engines[GetParam().name + std::to_string(threads) + std::string(name_of(set))];
        if (!engine) engine = load_engine(GetParam().folder, threads, set, GetParam().precision);
        return *engine;
    }
    Prepared prompt(runtime::Engine& on) { return prepare(on, GetParam().pictures, "Extract the text in the image."); }
};

TEST_P(RowRule, PromptInChunksOfAnySize) {
    const Prepared ready = prompt(engine());
    ASSERT_GT(ready.size(), tensor::kBlockPositions);
    const auto expected = logits_in_chunks(engine(), ready, ready.size());
    for (const std::size_t chunk : {1, 7, 16, 64})
        EXPECT_TRUE(equal_bits(logits_in_chunks(engine(), ready, chunk), expected)) << "chunks of " << chunk;
}

TEST_P(RowRule, AnyNumberOfThreads) {
    const Prepared expected = prompt(engine());
    const auto logits = logits_in_chunks(engine(), expected, 16);
    for (const int threads : {2, 4}) {
        SCOPED_TRACE(std::to_string(threads) + " threads");
        const Prepared found = prompt(engine(threads));
        for (std::size_t i = 0; i < expected.visual.size(); ++i)
            EXPECT_TRUE(equal_bits(found.visual[i], expected.visual[i])) << "picture " << i;
        EXPECT_TRUE(equal_bits(logits_in_chunks(engine(threads), expected, 16), logits));
    }
}

TEST_P(RowRule, AnyInstructionSet) {
    const Prepared expected = prompt(engine());
    const auto logits = logits_in_chunks(engine(), expected, expected.size());
    for (const InstructionSet set : backend::cpu::supported_sets()) {
        if (set == InstructionSet::reference && GetParam().folder != kTiny) continue;  // plain loops take minutes
        SCOPED_TRACE(name_of(set));
        const Prepared found = prompt(engine(2, set));
        for (std::size_t i = 0; i < expected.visual.size(); ++i)
            EXPECT_TRUE(equal_bits(found.visual[i], expected.visual[i])) << "picture " << i;
        EXPECT_TRUE(equal_bits(logits_in_chunks(engine(2, set), expected, expected.size()), logits));
    }
}

TEST_P(RowRule, OneAmongThreeSequences) {
    generate::Decoder& decoder = engine(2).decoder();
    const Prepared ready = prompt(engine(2));
    const auto expected = logits_in_chunks(engine(2), ready, ready.size());
    const std::size_t vocabulary = decoder.vocabulary();

    module::KvPool pool(engine(2).backend(), decoder.session().module().graph().kv);
    std::vector<Sequence> sequences;
    sequences.reserve(3);
    for (std::size_t i = 0; i < 3; ++i) sequences.emplace_back(pool, 4);
    for (std::int32_t id = 10; id < 90; ++id) sequences[0].append(id);
    ready.append_to(sequences[1]);
    for (std::int32_t id = 200; id < 330; ++id) sequences[2].append(id);
    std::vector<float> found;
    for (std::size_t turn = 0; sequences[1].cached() < sequences[1].size(); ++turn) {
        const std::size_t tokens = std::min<std::size_t>(1 + turn * 5, sequences[1].size() - sequences[1].cached());
        const std::size_t first = std::min<std::size_t>(turn % 3, sequences[0].size() - sequences[0].cached());
        const StepRows rows[] = {
            {&sequences[0], first, first}, {&sequences[1], tokens, tokens}, {&sequences[2], 2 + turn, 1}};
        ASSERT_TRUE(decoder.step(rows).ok());
        const auto all = copy_logits(decoder, first + tokens + 1);
        found.insert(found.end(), all.begin() + static_cast<std::ptrdiff_t>(first * vocabulary),
                     all.begin() + static_cast<std::ptrdiff_t>((first + tokens) * vocabulary));
    }
    EXPECT_TRUE(equal_bits(found, expected));
}

TEST_P(RowRule, PicturesOfOneRequestDoNotMeet) {
    const auto& names = GetParam().pictures;
    const Prepared together = prepare(engine(), {names[0], "small.png", names[0]}, "");
    EXPECT_TRUE(equal_bits(together.visual[0], together.visual[2]));
    auto fresh = load_engine(GetParam().folder, 1, backend::cpu::best_set(), GetParam().precision);
    EXPECT_TRUE(equal_bits(vision_of(*fresh, "small.png"), together.visual[1]));
}

TEST_P(RowRule, CropAndReplay) {
    generate::Decoder& decoder = engine().decoder();
    const Prepared ready = prompt(engine());
    module::KvPool pool(engine().backend(), decoder.session().module().graph().kv);
    Sequence sequence(pool, 4);
    ready.append_to(sequence);
    ASSERT_TRUE(decoder.prefill(sequence).ok());
    const auto expected = copy_logits(decoder, 1);

    // Asked again with nothing left to cache, the last token's logits are the same.
    for (std::int32_t id = 1; id < 70; ++id) sequence.append(id);
    ASSERT_TRUE(decoder.prefill(sequence).ok());
    sequence.crop(ready.size());
    EXPECT_EQ(sequence.cached(), ready.size());
    ASSERT_TRUE(decoder.prefill(sequence).ok());
    EXPECT_TRUE(equal_bits(copy_logits(decoder, 1), expected));

    // Back by the words of the prompt, then the same words once more.
    const std::size_t words = 5;
    sequence.crop(ready.size() - words);
    sequence.append(std::span(ready.tokens.ids).last(words), std::span(ready.tokens.positions).last(words * 4));
    ASSERT_TRUE(decoder.prefill(sequence).ok());
    EXPECT_TRUE(equal_bits(copy_logits(decoder, 1), expected));
}

INSTANTIATE_TEST_SUITE_P(
    Packages, RowRule,
    ::testing::Values(Package{"tiny", kTiny, {"tall.png", "wide.png", "square.png", "wide.png"}},
                      Package{"nano", kNano, {"text_tall.png"}},
                      Package{"tiny_bf16", kTiny, {"tall.png", "wide.png", "square.png", "wide.png"}, kAllBf16},
                      Package{"nano_bf16", kNano, {"text_tall.png"}, kAllBf16},
                      Package{"tiny_q8", kTiny, {"tall.png", "wide.png", "square.png", "wide.png"}, kAllQ8},
                      Package{"tiny_q4", kTiny, {"tall.png", "wide.png", "square.png", "wide.png"}, kAllQ4}),
    [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace inkstone::testing
