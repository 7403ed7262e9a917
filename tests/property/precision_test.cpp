// BF16, q8 and q4 against f32 on whole models, stage by stage: how far rounding may lead, which part each word changes,
// what is reported, and what it saves.
#include <algorithm>
#include <cmath>

#include "whole_model.h"

namespace inkstone::testing {
namespace {

using runtime::PartPrecisions;
using runtime::Precision;

std::unique_ptr<runtime::Engine> load(const std::filesystem::path& package, PartPrecisions precision) {
    runtime::EngineOptions options;
    options.threads = 2;
    options.precision = precision;
    options.vision_taps = kVisionTaps;
    options.text_taps = kTextTaps;
    auto engine = runtime::Engine::load(package, std::move(options));
    EXPECT_TRUE(engine.ok()) << engine.error().text();
    return std::move(*engine);
}

// Each stage's values in the order of the flow; the visual tokens of `vision` feed the decoder of `engine`.
std::vector<std::pair<std::string, std::vector<float>>> stages(runtime::Engine& engine, runtime::Engine& vision) {
    const std::string name = "text_label.png";
    std::vector<std::pair<std::string, std::vector<float>>> found;
    const auto take = [&](const module::Session& session, const std::vector<std::string>& taps,
                          const module::RowCounts& rows) {
        for (const std::string& tap : taps) append_taps(session, {tap}, rows, found.emplace_back(tap, 0).second);
    };
    vision_of(engine, name);
    take(engine.vision_session(), kVisionTaps, vision_rows(engine, name));
    const Prepared prompt = prepare(vision, {name}, "Extract the text in the image.");
    generate::Decoder& decoder = engine.decoder();
    module::KvPool pool(engine.backend(), decoder.session().module().graph().kv);
    generate::Sequence sequence(pool, 4);
    prompt.append_to(sequence);
    const generate::StepRows step{&sequence, prompt.size(), prompt.size()};
    EXPECT_TRUE(decoder.step({&step, 1}).ok());
    module::RowCounts rows{};
    rows[static_cast<std::size_t>(ops::Rows::token)] = prompt.size();
    take(decoder.session(), kTextTaps, rows);
    found.emplace_back("logits", copy_logits(decoder, prompt.size()));
    return found;
}

struct Distance {
    double relative = 0, cosine = 0;
};

Distance distance(const std::vector<float>& found, const std::vector<float>& expected) {
    double difference = 0, a = 0, b = 0, product = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double x = found[i], y = expected[i];
        difference += (x - y) * (x - y);
        a += x * x;
        b += y * y;
        product += x * y;
    }
    return {std::sqrt(difference / b), product / std::sqrt(a * b)};
}

// A rounding to bf16 is off by 2^-9 at most, about half of that on the average, and each product rounds its inputs and,
// where they are not exact, its weights. Errors of n roundings add up like sqrt(n) steps; some 100 stand one after
// another in these models, so that 2^-10 * sqrt(100) = 1 % is to be expected, and three times that is the bound.
constexpr double kRelative = 3e-2, kCosine = 0.999;

TEST(Precision, Bf16StaysNearF32StageByStage) {
    for (const auto& package : {kTiny, kNano}) {
        SCOPED_TRACE(package.filename());
        auto exact = load(package, {}), rounded = load(package, kAllBf16);
        const auto expected = stages(*exact, *exact), found = stages(*rounded, *rounded);
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            const Distance far = distance(found[i].second, expected[i].second);
            EXPECT_GT(far.relative, 0) << found[i].first << " is not rounded";
            EXPECT_LT(far.relative, kRelative) << found[i].first;
            EXPECT_GT(far.cosine, kCosine) << found[i].first;
        }
    }
}

// q8 is off by 1/254 of a group's largest number at most, in weights and in inputs: about 0.4 % of a group's usual
// number for each, some twenty products one after another in nano's decoder: 2 to 3 %, doubled. q4 has steps of 1/8: 5
// to 10 % of a usual weight. tiny's weights are random numbers, far from what rounding averages out in a trained model.
TEST(Precision, Q8AndQ4StayNearF32) {
    const std::pair<PartPrecisions, double> bounds[] = {{{.decoder = Precision::q8, .head = Precision::q8}, 0.06},
                                                        {{.decoder = Precision::q4, .head = Precision::q4}, 0.5}};
    auto exact = load(kNano, {});
    const auto expected = stages(*exact, *exact);
    for (const auto& [precision, bound] : bounds) {
        auto quantised = load(kNano, precision);
        const auto found = stages(*quantised, *exact);
        for (std::size_t i = 0; i < found.size(); ++i) {
            const Distance far = distance(found[i].second, expected[i].second);
            RecordProperty(found[i].first + (precision.head == Precision::q8 ? "_q8" : "_q4"),
                           std::to_string(far.relative));
            if (std::count(kVisionTaps.begin(), kVisionTaps.end(), found[i].first) != 0) {
                EXPECT_EQ(far.relative, 0) << found[i].first;
            } else {
                EXPECT_GT(far.relative, 0) << found[i].first << " is not quantised";
                EXPECT_LT(far.relative, bound) << found[i].first;
            }
        }
    }
}

// What a word changes, and what it leaves as it is, to the last bit.
TEST(Precision, EachWordChangesItsPart) {
    auto exact = load(kTiny, {});
    const auto expected = stages(*exact, *exact);
    const auto changed_by = [&](PartPrecisions precision) {
        auto engine = load(kTiny, precision);
        const auto found = stages(*engine, *exact);
        std::string changed;
        for (std::size_t i = 0; i < found.size(); ++i)
            if (!equal_bits(found[i].second, expected[i].second))
                changed += (changed.empty() ? "" : " ") + found[i].first;
        return changed;
    };
    EXPECT_EQ(changed_by({.vision = Precision::bf16}), "patch_embedding vision_layer_first vision_layer_last merger");
    EXPECT_EQ(changed_by({.decoder = Precision::bf16}), "decoder_layer_first decoder_layer_last logits");
    EXPECT_EQ(changed_by({.kv = Precision::bf16}), "decoder_layer_first decoder_layer_last logits");
    // The head's matrix is the embedding's: its weights, which bf16 does not hold exactly here, exist once.
    EXPECT_EQ(changed_by({.head = Precision::bf16}), "embedded decoder_layer_first decoder_layer_last logits");
    for (const Precision precision : {Precision::q8, Precision::q4}) {
        EXPECT_EQ(changed_by({.decoder = precision}), "decoder_layer_first decoder_layer_last logits");
        EXPECT_EQ(changed_by({.head = precision}), "embedded decoder_layer_first decoder_layer_last logits");
    }
    EXPECT_EQ(changed_by({}), "");
}

TEST(Precision, TheHeadAloneWhereWeightsAreExact) {
    auto exact = load(kNano, {}), head = load(kNano, {.head = Precision::bf16});
    const auto expected = stages(*exact, *exact), found = stages(*head, *exact);
    for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_EQ(found[i].first == "logits", !equal_bits(found[i].second, expected[i].second)) << found[i].first;
}

TEST(Precision, WhatReallyRunsIsReported) {
    const auto report = load(kTiny, {.vision = Precision::bf16, .kv = Precision::bf16})->precision_report();
    EXPECT_TRUE(report.vision.starts_with("bf16 arithmetic, bf16 weights")) << report.vision;
    EXPECT_TRUE(report.decoder.starts_with("f32 arithmetic")) << report.decoder;
    EXPECT_TRUE(report.head.starts_with("f32 arithmetic")) << report.head;
    EXPECT_EQ(report.kv, "bf16");
    EXPECT_TRUE(report.vision.ends_with("(rounded)")) << report.vision;                            // its file is F32
    EXPECT_EQ(load(kNano, kAllBf16)->precision_report().vision, "bf16 arithmetic, bf16 weights");  // exact in bf16
    const auto other = load(kTiny, {.decoder = Precision::bf16, .head = Precision::bf16})->precision_report();
    EXPECT_TRUE(other.vision.starts_with("f32 arithmetic")) << other.vision;
    EXPECT_TRUE(other.decoder.starts_with("bf16 arithmetic, bf16 weights")) << other.decoder;
    EXPECT_TRUE(other.head.starts_with("bf16 arithmetic, bf16 weights")) << other.head;
    EXPECT_EQ(other.kv, "f32");
    const auto low = load(kNano, {.decoder = Precision::q4, .head = Precision::q8})->precision_report();
    EXPECT_EQ(low.vision, "f32 arithmetic, bf16 weights");
    EXPECT_EQ(low.decoder, "int8 arithmetic, q4 weights");
    EXPECT_EQ(low.head, "int8 arithmetic, q8 weights");
}

TEST(Precision, Q8OfVisionAndOfKeysAndValuesIsRefused) {
    for (const PartPrecisions& precision :
         {PartPrecisions{.vision = Precision::q8}, PartPrecisions{.kv = Precision::q4}}) {
        runtime::EngineOptions options;
        options.precision = precision;
        const auto engine = runtime::Engine::load(kTiny, std::move(options));
        ASSERT_FALSE(engine.ok());
        EXPECT_EQ(engine.error().code, ErrorCode::unsupported);
        EXPECT_NE(engine.error().message.find(precision.kv == Precision::q4 ? "kv is q4" : "vision is q8"),
                  std::string::npos)
            << engine.error().text();
    }
}

TEST(Precision, Bf16IsLessMemory) {
    auto exact = load_engine(kNano), rounded = load_engine(kNano, 1, backend::cpu::best_set(), kAllBf16);
    const model::hunyuan_vl::ImageGrid grid{32, 32};
    const auto f32 = exact->estimate({&grid, 1}, 0, 300, 200), bf16 = rounded->estimate({&grid, 1}, 0, 300, 200);
    EXPECT_EQ(bf16.cache * 2, f32.cache);
    EXPECT_LE(bf16.weights, f32.weights);
    EXPECT_LT(bf16.activations, f32.activations);
    EXPECT_LT(bf16.vision, f32.vision);
    const auto weights = [&](PartPrecisions precision) {
        return load_engine(kNano, 1, backend::cpu::best_set(), precision)->estimate({&grid, 1}, 0, 300, 200).weights;
    };
    const auto q8 = weights(kAllQ8), q4 = weights(kAllQ4);
    EXPECT_LT(q8, bf16.weights);
    EXPECT_LT(q4, q8);
}

// Insertions, deletions and substitutions that lead from one text to the other.
std::size_t edits(const std::string& a, const std::string& b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t corner = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t above = row[j];
            row[j] = std::min({above + 1, row[j - 1] + 1, corner + (a[i - 1] == b[j - 1] ? 0 : 1)});
            corner = above;
        }
    }
    return row.back();
}

// The small model reads its example pages with the same words in f32 and bf16, in q8 with nearly the same, in q4 with
// most.
TEST(Precision, TheNanoModelReadsTheExamples) {
    auto exact = load_engine(kNano, 2), rounded = load_engine(kNano, 2, backend::cpu::best_set(), kAllBf16);
    auto q8 = load_engine(kNano, 2, backend::cpu::best_set(), kAllQ8);
    auto q4 = load_engine(kNano, 2, backend::cpu::best_set(), kAllQ4);
    for (const char* name : {"page_512.png", "receipt.png", "sign.png"}) {
        const auto read = [&](runtime::Engine& engine) {
            runtime::Request request;
            auto decoded = image::decode_file(kRoot / "examples" / name);
            EXPECT_TRUE(decoded.ok());
            request.images.push_back(std::move(*decoded));
            request.prompt = engine.package().tasks.default_task().prompt;
            runtime::AnswerOptions options;
            options.max_new_tokens = 400;
            auto answer = engine.recognize(std::move(request), options);
            EXPECT_TRUE(answer.ok());
            return answer->text;
        };
        const std::string expected = read(*exact);
        EXPECT_GT(expected.size(), 5U) << name;
        EXPECT_EQ(read(*rounded), expected) << name;
        for (const auto& [engine, bound, format] :
             {std::tuple{q8.get(), 0.02, "q8"}, std::tuple{q4.get(), 0.1, "q4"}}) {
            const double error =
                static_cast<double>(edits(read(*engine), expected)) / static_cast<double>(expected.size());
            RecordProperty(std::string(format) + "_" + std::string(name).substr(0, 4), std::to_string(error));
            EXPECT_LE(error, bound) << name << " in " << format;
        }
    }
}

}  // namespace
}  // namespace inkstone::testing
