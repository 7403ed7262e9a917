// Shared by the property tests: a package's engine on chosen kernels and threads, and pictures with a prompt made ready
// for the decoder.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "image/decode.h"
#include "model/hunyuan_vl/vision.h"
#include "runtime/engine.h"

namespace inkstone::testing {

inline const std::filesystem::path kRoot = INKSTONE_SOURCE_DIR;
inline const std::filesystem::path kTiny = kRoot / "tests/data/tiny";
inline const std::filesystem::path kNano = kRoot / "models/nano";

inline std::unique_ptr<runtime::Engine> load_engine(const std::filesystem::path& package, int threads = 1,
                                                    backend::cpu::InstructionSet set = backend::cpu::best_set(),
                                                    runtime::PartPrecisions precision = {}) {
    runtime::EngineOptions options;
    options.precision = precision;
    options.threads = threads;
    options.instruction_set = set;
    auto engine = runtime::Engine::load(package, std::move(options));
    EXPECT_TRUE(engine.ok()) << engine.error().text();
    return std::move(*engine);
}

inline image::Image picture(const std::string& name) {
    auto decoded = image::decode_file(kRoot / "tests/data/pictures" / name);
    EXPECT_TRUE(decoded.ok());
    return std::move(*decoded);
}

inline image::Patches patches_of(const runtime::Engine& engine, const std::string& name) {
    auto patches = image::preprocess(picture(name), engine.package().preprocessing);
    EXPECT_TRUE(patches.ok());
    return std::move(*patches);
}

// [visual tokens, hidden] of one picture.
inline std::vector<float> vision_of(runtime::Engine& engine, const std::string& name) {
    std::vector<float> visual;
    EXPECT_TRUE(engine.run_vision(patches_of(engine, name), visual).ok());
    return visual;
}

// A prompt with its visual rows, which sequences borrow.
struct Prepared {
    model::hunyuan_vl::PromptTokens tokens;
    std::vector<std::vector<float>> visual;
    std::size_t hidden = 0;

    std::size_t size() const { return tokens.ids.size(); }
    void append_to(generate::Sequence& sequence) const {
        sequence.append(tokens.ids, tokens.positions);
        for (std::size_t i = 0; i < visual.size(); ++i)
            sequence.set_visual(tokens.image_offsets[i], visual[i].size() / hidden, visual[i].data(), hidden);
    }
};

inline Prepared prepare(runtime::Engine& engine, const std::vector<std::string>& pictures, std::string_view text) {
    const auto& package = engine.package();
    Prepared prepared;
    prepared.hidden = package.config.text.hidden_size;
    std::vector<model::hunyuan_vl::ImageGrid> grids;
    for (const std::string& name : pictures) {
        const auto patches = patches_of(engine, name);
        grids.push_back({static_cast<std::size_t>(patches.grid_height), static_cast<std::size_t>(patches.grid_width)});
        prepared.visual.push_back(vision_of(engine, name));
    }
    auto tokens =
        model::hunyuan_vl::build_prompt(package.config, package.prompt_format, package.tokenizer, {}, grids, text);
    EXPECT_TRUE(tokens.ok());
    prepared.tokens = std::move(*tokens);
    return prepared;
}

inline const std::vector<std::string> kVisionTaps = {"patch_embedding", "vision_layer_first", "vision_layer_last",
                                                     "merger"};
inline const std::vector<std::string> kTextTaps = {"embedded", "decoder_layer_first", "decoder_layer_last"};

// Rows of the vision graph for a picture.
inline module::RowCounts vision_rows(const runtime::Engine& engine, const std::string& name) {
    const auto patches = patches_of(engine, name);
    return model::hunyuan_vl::vision_rows(engine.package().config, static_cast<std::size_t>(patches.grid_height),
                                          static_cast<std::size_t>(patches.grid_width));
}

// Appends the values of taps after a run.
inline void append_taps(const module::Session& session, const std::vector<std::string>& names,
                        const module::RowCounts& rows, std::vector<float>& values) {
    const graph::Graph& graph = session.module().graph();
    for (const std::string& name : names) {
        const graph::Value value = graph.taps.at(name);
        const graph::ValueInfo& info = graph.values[value.index];
        const float* data = session.value(value);
        values.insert(values.end(), data, data + rows[static_cast<std::size_t>(info.rows)] * info.width);
    }
}

inline std::vector<float> copy_logits(generate::Decoder& decoder, std::size_t rows) {
    std::vector<float> logits;
    for (std::size_t row = 0; row < rows; ++row) {
        const auto values = decoder.logits(row);
        logits.insert(logits.end(), values.begin(), values.end());
    }
    return logits;
}

// BF16 wherever it can be chosen.
inline constexpr runtime::PartPrecisions kAllBf16 = {runtime::Precision::bf16, runtime::Precision::bf16,
                                                     runtime::Precision::bf16, runtime::Precision::bf16};

// What whole q8 and q4 mean.
inline constexpr runtime::PartPrecisions kAllQ8 = {runtime::Precision::bf16, runtime::Precision::q8,
                                                   runtime::Precision::q8, runtime::Precision::bf16};
inline constexpr runtime::PartPrecisions kAllQ4 = {runtime::Precision::bf16, runtime::Precision::q4,
                                                   runtime::Precision::q4, runtime::Precision::bf16};

// Equal bits, no tolerance.
inline ::testing::AssertionResult equal_bits(const std::vector<float>& found, const std::vector<float>& expected) {
    if (found.size() != expected.size())
        return ::testing::AssertionFailure() << found.size() << " values, expected " << expected.size();
    for (std::size_t i = 0; i < found.size(); ++i)
        if (std::memcmp(&found[i], &expected[i], sizeof(float)) != 0)
            return ::testing::AssertionFailure() << "value " << i << " is " << found[i] << ", expected " << expected[i];
    return ::testing::AssertionSuccess();
}

}  // namespace inkstone::testing
