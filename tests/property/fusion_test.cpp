// Whole models with and without the passes of graph/passes/: every tap of both graphs and the logits have the same
// bits, on every instruction set, and what runs needs no more memory.
#include <algorithm>

#include "module/plan.h"
#include "whole_model.h"

namespace inkstone::testing {
namespace {

std::unique_ptr<runtime::Engine> load(const std::filesystem::path& package, bool fuse, int threads,
                                      backend::cpu::InstructionSet set, bool tapped) {
    runtime::EngineOptions options;
    options.threads = threads;
    options.instruction_set = set;
    options.fuse = fuse;
    if (tapped) {
        options.vision_taps = kVisionTaps;
        options.text_taps = kTextTaps;
    }
    auto engine = runtime::Engine::load(package, std::move(options));
    EXPECT_TRUE(engine.ok()) << engine.error().text();
    return std::move(*engine);
}

// Taps of the vision tower, the visual tokens, taps of the decoder, the logits of every token of a prompt.
std::vector<float> everything(runtime::Engine& engine, bool tapped) {
    std::vector<float> values = vision_of(engine, "small.png");
    if (tapped) append_taps(engine.vision_session(), kVisionTaps, vision_rows(engine, "small.png"), values);
    const Prepared prompt = prepare(engine, {"small.png"}, "Extract the text in the image.");
    generate::Decoder& decoder = engine.decoder();
    module::KvPool pool(engine.backend(), decoder.session().module().graph().kv);
    generate::Sequence sequence(pool, 4);
    prompt.append_to(sequence);
    const std::size_t tokens = std::min(prompt.size(), generate::Decoder::kMaximumRows);
    const generate::StepRows step{&sequence, tokens, tokens};
    EXPECT_TRUE(decoder.step({&step, 1}).ok());
    module::RowCounts rows{};
    rows[static_cast<std::size_t>(ops::Rows::token)] = tokens;
    if (tapped) append_taps(decoder.session(), kTextTaps, rows, values);
    const auto logits = copy_logits(decoder, tokens);
    values.insert(values.end(), logits.begin(), logits.end());
    return values;
}

TEST(Fusion, ChangesNoBitOfTheTinyModel) {
    for (const auto set : backend::cpu::supported_sets())
        for (const bool tapped : {false, true}) {
            SCOPED_TRACE(std::string(name_of(set)) + (tapped ? ", tapped" : ""));
            const auto plain = everything(*load(kTiny, false, 1, set, tapped), tapped);
            EXPECT_TRUE(equal_bits(everything(*load(kTiny, true, 2, set, tapped), tapped), plain));
        }
}

TEST(Fusion, ChangesNoBitOfTheNanoModel) {
    const auto set = backend::cpu::best_set();
    EXPECT_TRUE(equal_bits(everything(*load(kNano, true, 2, set, true), true),
                           everything(*load(kNano, false, 1, set, true), true)));
}

TEST(Fusion, SavesOperatorsAndCostsNoMemory) {
    for (const auto& package : {kTiny, kNano}) {
        const auto plain = load(package, false, 1, backend::cpu::best_set(), false);
        const auto fused = load(package, true, 1, backend::cpu::best_set(), false);
        module::RowCounts rows{};
        rows.fill(256);
        EXPECT_LE(fused->vision_session().planned_bytes(rows), plain->vision_session().planned_bytes(rows));
        EXPECT_LE(fused->decoder().session().planned_bytes(rows), plain->decoder().session().planned_bytes(rows));
        const auto& config = fused->package().config;
        // A layer of the tower is norm, qkv, attention, output, norm, two products; one of the decoder the same with
        // two rotations.
        const auto saved = [](module::Session& before, module::Session& after) {
            return before.module().graph().nodes.size() - after.module().graph().nodes.size();
        };
        EXPECT_GE(saved(plain->vision_session(), fused->vision_session()), 5 * config.vision.num_hidden_layers);
        EXPECT_GE(saved(plain->decoder().session(), fused->decoder().session()), 9 * config.text.num_hidden_layers);
    }
}

}  // namespace
}  // namespace inkstone::testing
