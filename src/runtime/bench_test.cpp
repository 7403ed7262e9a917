// The report of a bench: what was counted is right, what was measured is there. No time is asserted.
#include "runtime/bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "backend/cpu/instruction_set.h"

namespace inkstone::runtime {
namespace {

const std::filesystem::path kTiny = std::filesystem::path(INKSTONE_SOURCE_DIR) / "tests/data/tiny";

// The tiny model's decoder: 80 wide, 4 heads and 2 kv heads of 24, 136 inside, 5 layers, a vocabulary of 1024.
constexpr double kLayerWeights = 80 * (4 * 24) * 2 + 80 * (2 * 24) * 2 + 3 * 80 * 136;
constexpr double kTextWeights = 5 * kLayerWeights;
constexpr double kHeadWeights = 1024 * 80;

BenchOptions quick() {
    BenchOptions options;
    options.quick = true;
    options.threads = {1};
    options.contexts = {70};
    options.pictures = {{64, 96}};
    return options;
}

void expect_measured(const BenchWork& work, bool reads) {
    EXPECT_GE(work.repeats, 3U);
    EXPECT_GT(work.best_ms, 0);
    EXPECT_GE(work.median_ms, work.best_ms);
    EXPECT_GT(work.operations, 0);
    EXPECT_EQ(work.bytes > 0, reads);
    EXPECT_GT(work.share(), 0);
    EXPECT_GE(work.limit.samples, 2U);
    EXPECT_GE(work.limit.best, work.limit.median);
    EXPECT_GT(work.limit_before, 0);
    EXPECT_GT(work.limit_after, 0);
}

TEST(Bench, CountsWorkAndBytes) {
    const auto result = bench(kTiny, quick());
    ASSERT_TRUE(result) << result.error().text();
    const BenchReport& report = *result;
    ASSERT_EQ(report.formats.size(), bench_formats().size());
    EXPECT_EQ(report.instruction_set, backend::cpu::name_of(backend::cpu::best_set()));
    EXPECT_GE(report.cores, 1);
    ASSERT_EQ(report.machine.size(), 1U);
    EXPECT_EQ(report.machine[0].threads, 1);
    EXPECT_GT(report.machine[0].reading.best, 0);
    EXPECT_FALSE(report.machine[0].pattern.empty());
    EXPECT_EQ(report.machine[0].arithmetic[0].name, "f32");

    const BenchFormat& format = report.formats[0];
    EXPECT_EQ(format.name, "f32");
    // Weights lie in tiles of 64 outputs, which the head and the MLP fill or pad.
    EXPECT_GE(format.token_weight_bytes, 2 * (kTextWeights + kHeadWeights));
    EXPECT_LE(format.token_weight_bytes, 4 * (kTextWeights + kHeadWeights) * 1.5);
    EXPECT_GT(format.weight_bytes, format.token_weight_bytes);
    // Keys: 24 a head; values are padded to 32; 2 heads, 5 layers.
    EXPECT_EQ(format.position_bytes, 5U * 2 * (24 + 32) * 4);

    ASSERT_EQ(format.runs.size(), 1U);
    const BenchRun& run = format.runs[0];
    expect_measured(run.products, false);
    ASSERT_EQ(run.decode.size(), 1U);
    expect_measured(run.decode[0], true);
    EXPECT_EQ(run.decode[0].count, 70U);
    EXPECT_EQ(run.decode[0].bytes, static_cast<double>(format.token_weight_bytes + 71 * format.position_bytes));
    EXPECT_EQ(run.decode[0].operations, 2 * (kTextWeights + kHeadWeights) + 5 * 4.0 * 96 * 71);
    ASSERT_EQ(run.prefill.size(), 1U);
    expect_measured(run.prefill[0], false);
    // Half of the positions are seen on average, the own one included; one row of the head.
    EXPECT_EQ(run.prefill[0].operations, 70 * 2 * kTextWeights + 2 * kHeadWeights + 70 * 5 * 4.0 * 96 * 35.5);
    ASSERT_EQ(run.vision.size(), 1U);
    expect_measured(run.vision[0], false);
    EXPECT_EQ(run.vision[0].count % 4, 0U);
    for (const BenchWork* work : {&run.vision[0], &run.prefill[0], &run.decode[0]}) {
        EXPECT_EQ(work->stages.size(), 4U);  // three of the graph, and what is between them
        for (const StageTime& stage : work->stages) EXPECT_GE(stage.ms, 0) << stage.name;
    }
    EXPECT_EQ(run.decode[0].stages[1].name, "decoder");
}

TEST(Bench, ThreadsAndContextsInTheOrderAskedFor) {
    BenchOptions options = quick();
    options.threads = {2, 1};
    options.contexts = {5, 0};
    std::vector<std::string> said;
    options.on_progress = [&](std::string_view stage) { said.emplace_back(stage); };
    const auto result = bench(kTiny, options);
    ASSERT_TRUE(result) << result.error().text();
    const BenchFormat& format = result->formats[0];
    ASSERT_EQ(format.runs.size(), 2U);
    EXPECT_EQ(format.runs[0].threads, 2);
    EXPECT_EQ(format.runs[1].threads, 1);
    EXPECT_EQ(result->machine[0].threads, 2);
    ASSERT_EQ(format.runs[0].decode.size(), 2U);
    EXPECT_EQ(format.runs[0].decode[1].count, 0U);
    EXPECT_EQ(format.runs[0].prefill.size(), 1U);  // nothing to prefill for an empty context
    EXPECT_NE(std::find(said.begin(), said.end(), "decode after 5, 2 threads"), said.end());
}

TEST(Bench, Refusals) {
    BenchOptions options = quick();
    options.contexts = {2048};
    auto result = bench(kTiny, options);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::context_full);
    EXPECT_NE(result.error().message.find("2048"), std::string::npos);

    options = quick();
    options.formats = {"f33"};
    result = bench(kTiny, options);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(result.error().message.find("f33"), std::string::npos);

    options = quick();
    result = bench(kTiny / "nowhere", options);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::not_found);

    const std::atomic<bool> cancel{true};
    options.cancel = &cancel;
    result = bench(kTiny, options);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::cancelled);
}

}  // namespace
}  // namespace inkstone::runtime
