// Packing of a graph's constants: what is held, in which format, and what is refused.
#include "module/weights.h"

#include <gtest/gtest.h>

#include "backend/cpu/cpu_backend.h"

namespace inkstone::module {
namespace {

class PackedWeights : public ::testing::Test {
protected:
    Result<Weights> pack(const graph::Graph& graph, const LoadHooks& hooks = {}) {
        return Weights::pack(graph, *backend_, hooks);
    }
    static tensor::TensorView view(tensor::DataType type, std::uint64_t elements, std::span<const std::byte> bytes) {
        return {type, tensor::Shape{elements}, bytes};
    }
    std::unique_ptr<backend::cpu::CpuBackend> backend_ =
        std::move(*backend::cpu::CpuBackend::create(backend::cpu::best_set(), 1));
};

TEST_F(PackedWeights, HoldsTheNarrowestExactFormat) {
    const std::vector<float> coarse(32, 1.5F), fine(32, 1.1F);
    graph::Graph graph;
    graph.matrices = {{"coarse", view(tensor::DataType::f32, 32, std::as_bytes(std::span(coarse))), 8, 4, 1},
                      {"fine", view(tensor::DataType::f32, 32, std::as_bytes(std::span(fine))), 8, 4, 1}};
    graph.vectors = {{"bias", view(tensor::DataType::f32, 32, std::as_bytes(std::span(fine))), 30, 2}};
    std::vector<std::uint64_t> progress;
    std::size_t released = 0;
    LoadHooks hooks;
    hooks.progress = [&](std::uint64_t bytes) { progress.push_back(bytes); };
    hooks.release = [&](const tensor::TensorView&) { ++released; };
    const auto weights = pack(graph, hooks);
    ASSERT_TRUE(weights.ok());
    EXPECT_EQ(weights->matrix({0}).format, tensor::WeightFormat::bf16);
    EXPECT_EQ(weights->matrix({1}).format, tensor::WeightFormat::f32);
    EXPECT_EQ(weights->formats(), "f32+bf16");
    EXPECT_EQ(weights->vector({0})[29], 1.1F);
    EXPECT_EQ(progress, (std::vector<std::uint64_t>{128, 256, 384}));
    EXPECT_EQ(released, 3U);
    float row[4];
    tensor::unpack_row(weights->matrix({1}), 7, row);
    EXPECT_EQ(row[3], 1.1F);
}

TEST_F(PackedWeights, OtherElementTypesAreNamed) {
    const std::vector<std::byte> bytes(64);
    graph::Graph graph;
    graph.matrices = {{"w", view(tensor::DataType::i32, 16, bytes), 4, 4, 1}};
    for (const bool as_vector : {false, true}) {
        if (as_vector) {
            graph.matrices.clear();
            graph.vectors = {{"w", view(tensor::DataType::i32, 16, bytes), 16, 0}};
        }
        const auto weights = pack(graph);
        ASSERT_FALSE(weights.ok());
        EXPECT_EQ(weights.error().code, ErrorCode::unsupported);
        EXPECT_EQ(weights.error().subject, "w");
        EXPECT_NE(weights.error().message.find("I32"), std::string::npos) << weights.error().text();
    }
}

}  // namespace
}  // namespace inkstone::module
