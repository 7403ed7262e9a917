// Every stage of the model against the official implementation's recorded values (tests/golden/README.md), for a tiny
// random model and for the small default model. A fault in one stage shows at that stage and all after it.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/mapped_file.h"
#include "format/safetensors.h"
#include "image/decode.h"
#include "image/resize.h"
#include "runtime/engine.h"

namespace inkstone {
namespace {

const std::filesystem::path kRoot = INKSTONE_SOURCE_DIR;
const std::filesystem::path kGoldens = kRoot / "tests/golden/hunyuan_vl";

nlohmann::json read_json(const std::filesystem::path& path) {
    auto text = read_text_file(path, 1 << 24, "test");
    EXPECT_TRUE(text.ok());
    return nlohmann::json::parse(text.ok() ? *text : "{}");
}

// The engine of a package, loaded once with every tap; null when it does not load.
runtime::Engine* engine_of(const std::string& package) {
    static std::map<std::string, std::unique_ptr<runtime::Engine>> engines;
    auto& engine = engines[package];
    if (!engine) {
        runtime::EngineOptions options;
        options.threads = 2;
        options.vision_taps = {"patch_embedding", "vision_layer_first", "vision_layer_last", "merger"};
        options.text_taps = {"embedded", "decoder_layer_first", "decoder_layer_last"};
        auto loaded = runtime::Engine::load(kRoot / package, options);
        EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().text());
        if (loaded.ok()) engine = std::move(*loaded);
    }
    return engine.get();
}

struct Case {
    std::string model, name;
};
std::ostream& operator<<(std::ostream& out, const Case& golden) { return out << golden.model << '/' << golden.name; }

std::vector<Case> all_cases() {
    std::vector<Case> cases;
    for (const char* model : {"nano", "tiny"})
        for (const auto& entry : std::filesystem::directory_iterator(kGoldens / model))
            if (entry.path().extension() == ".json") cases.push_back({model, entry.path().stem()});
    std::ranges::sort(cases, {}, [](const Case& golden) { return golden.model + golden.name; });
    return cases;
}

// A stage's values against the golden rows: cosine > 0.99999 and relative L2 < 2e-5 over the rows together (a
// tanh GELU in place of the exact one shows as 3e-5; float noise stays below 4e-6).
void expect_close(const format::Safetensors& golden, const std::string& stage, const float* found, std::size_t rows) {
    const auto* values = golden.find(stage);
    const auto* numbers = golden.find(stage + ".rows");
    ASSERT_NE(values, nullptr) << stage;
    const auto expected = tensor::to_float(*values, stage);
    ASSERT_TRUE(expected.ok());
    const auto width = static_cast<std::size_t>(values->shape[values->shape.rank() - 1]);
    const std::size_t count = expected->size() / width;
    double dot = 0, found_norm = 0, expected_norm = 0, difference = 0;
    for (std::size_t i = 0; i < count; ++i) {
        std::int32_t row = 0;
        if (numbers != nullptr) std::memcpy(&row, numbers->bytes.data() + i * sizeof row, sizeof row);
        ASSERT_LT(static_cast<std::size_t>(row), rows) << stage;
        for (std::size_t j = 0; j < width; ++j) {
            const double a = found[static_cast<std::size_t>(row) * width + j], b = (*expected)[i * width + j];
            dot += a * b;
            found_norm += a * a;
            expected_norm += b * b;
            difference += (a - b) * (a - b);
        }
    }
    EXPECT_GT(dot / std::sqrt(found_norm * expected_norm), 0.99999) << stage;
    EXPECT_LT(std::sqrt(difference / expected_norm), 2e-5) << stage;
}

class Golden : public ::testing::TestWithParam<Case> {
protected:
    void SetUp() override {
        json_ = read_json(kGoldens / GetParam().model / (GetParam().name + ".json"));
        engine_ = engine_of(json_["model"].get<std::string>());
        ASSERT_NE(engine_, nullptr);
    }

    std::vector<image::Image> pictures() const {
        std::vector<image::Image> pictures;
        for (const auto& path : json_["images"]) {
            auto picture = image::decode_file(kRoot / path.get<std::string>());
            EXPECT_TRUE(picture.ok());
            pictures.push_back(std::move(*picture));
        }
        return pictures;
    }

    model::hunyuan_vl::PromptTokens prompt() const {
        const runtime::Package& package = engine_->package();
        std::vector<model::hunyuan_vl::ImageGrid> grids;
        for (const auto& detail : json_["image_details"])
            grids.push_back({detail["grid"][0].get<std::size_t>(), detail["grid"][1].get<std::size_t>()});
        auto prompt = model::hunyuan_vl::build_prompt(package.config, package.prompt_format, package.tokenizer,
                                                      json_["system"].get<std::string>(), grids,
                                                      json_["prompt"].get<std::string>());
        EXPECT_TRUE(prompt.ok());
        return std::move(*prompt);
    }

    nlohmann::json json_;
    runtime::Engine* engine_ = nullptr;
};

TEST_P(Golden, PictureSizesAndPixels) {
    const auto all = pictures();
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto& detail = json_["image_details"][i];
        const auto patches = image::preprocess(all[i], engine_->package().preprocessing);
        ASSERT_TRUE(patches.ok());
        EXPECT_EQ(patches->source_width, detail["width"]);
        EXPECT_EQ(patches->source_height, detail["height"]);
        EXPECT_EQ(patches->resized_width, detail["resized_width"]);
        EXPECT_EQ(patches->resized_height, detail["resized_height"]);
        EXPECT_EQ(patches->grid_height, detail["grid"][0]);
        EXPECT_EQ(patches->grid_width, detail["grid"][1]);
        const auto resized = image::resize_bicubic(all[i], patches->resized_width, patches->resized_height);
        ASSERT_TRUE(resized.ok());
        EXPECT_EQ(crc32(0, resized->pixels.data(), static_cast<uInt>(resized->pixels.size())),
                  detail["resized_pixels_crc32"].get<std::uint32_t>());
    }
}

TEST_P(Golden, PromptIds) {
    const auto tokens = prompt();
    EXPECT_EQ(tokens.ids, json_["input_ids"].get<std::vector<std::int32_t>>());
    for (std::size_t i = 0; i < tokens.image_offsets.size(); ++i) {
        const auto& detail = json_["image_details"][i];
        EXPECT_EQ(model::hunyuan_vl::visual_tokens(engine_->package().config, detail["grid"][0], detail["grid"][1]),
                  detail["visual_tokens"].get<std::size_t>());
    }
}

TEST_P(Golden, EveryStage) {
    const auto path = kGoldens / GetParam().model / (GetParam().name + ".safetensors");
    if (!std::filesystem::exists(path)) return;  // a case of ids alone
    const auto golden = format::Safetensors::open(path);
    ASSERT_TRUE(golden.ok());
    const auto& config = engine_->package().config;

    // Vision, one image after another.
    const auto all = pictures();
    std::vector<std::vector<float>> visual(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto patches = image::preprocess(all[i], engine_->package().preprocessing);
        ASSERT_TRUE(patches.ok());
        const std::size_t count = static_cast<std::size_t>(patches->grid_height) * patches->grid_width;
        const std::string at = "." + std::to_string(i);
        expect_close(*golden, "pixels" + at, patches->values.data(), count);
        ASSERT_TRUE(engine_->run_vision(*patches, visual[i]).ok());
        const auto& session = engine_->vision_session();
        for (const char* stage : {"patch_embedding", "vision_layer_first", "vision_layer_last"})
            expect_close(*golden, stage + at, session.value(session.module().graph().taps.at(stage)), count);
        expect_close(*golden, "merger" + at, visual[i].data(), visual[i].size() / config.text.hidden_size);
    }

    // Positions.
    const auto tokens = prompt();
    const std::size_t length = tokens.ids.size();
    const auto* positions = golden->find("positions");
    ASSERT_NE(positions, nullptr);
    for (std::size_t axis = 0; axis < 4; ++axis)
        for (std::size_t token = 0; token < length; ++token) {
            std::int32_t expected = 0;
            std::memcpy(&expected, positions->bytes.data() + (axis * length + token) * sizeof expected,
                        sizeof expected);
            ASSERT_EQ(tokens.positions[token * 4 + axis], expected) << "axis " << axis << ", token " << token;
        }

    // The decoder over the whole prompt.
    generate::Decoder& decoder = engine_->decoder();
    module::KvPool pool(engine_->backend(), decoder.session().module().graph().kv);
    generate::Sequence sequence(pool, 4);
    sequence.append(tokens.ids, tokens.positions);
    for (std::size_t i = 0; i < all.size(); ++i)
        sequence.set_visual(tokens.image_offsets[i], visual[i].size() / config.text.hidden_size, visual[i].data(),
                            config.text.hidden_size);
    ASSERT_LE(length, generate::Decoder::kMaximumRows);
    const generate::StepRows rows{&sequence, length, 1};
    ASSERT_TRUE(decoder.step({&rows, 1}).ok());
    const auto& session = decoder.session();
    for (const char* stage : {"embedded", "decoder_layer_first", "decoder_layer_last"})
        expect_close(*golden, stage, session.value(session.module().graph().taps.at(stage)), length);
    expect_close(*golden, "logits", decoder.logits(0).data(), 1);
}

TEST_P(Golden, GreedyIds) {
    for (const auto& generation : json_["generations"]) {
        runtime::AnswerOptions options;
        options.max_new_tokens = generation["max_new_tokens"];
        options.sampler.repetition_penalty = generation["repetition_penalty"];
        const std::string system = json_["system"], prompt = json_["prompt"];
        auto answer = engine_->recognize({pictures(), system, prompt}, options);
        ASSERT_TRUE(answer.ok()) << answer.error().text();
        EXPECT_EQ(answer->generated.ids, generation["ids"].get<std::vector<std::int32_t>>())
            << "penalty " << options.sampler.repetition_penalty;
        EXPECT_EQ(answer->text, generation["text"].get<std::string>());
        EXPECT_EQ(answer->generated.finish == generate::Finish::stop, generation["finish_reason"] == "stop");
        if (!generation["stop_id"].is_null()) {
            EXPECT_EQ(answer->generated.last_token, generation["stop_id"]);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, Golden, ::testing::ValuesIn(all_cases()),
                         [](const auto& parameter) { return parameter.param.model + "_" + parameter.param.name; });

}  // namespace
}  // namespace inkstone
