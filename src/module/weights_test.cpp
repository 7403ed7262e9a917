// Packing of a graph's constants: what is held, in which format, and what is refused.
#include "module/weights.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include "backend/cpu/cpu_backend.h"
#include "tensor/half.h"

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
    std::uint64_t asked = 0;
    LoadHooks hooks;
    hooks.progress = [&](std::uint64_t bytes) { progress.push_back(bytes); };
    hooks.admit = [&](std::uint64_t bytes) {
        asked = bytes;
        return Status();
    };
    const auto weights = pack(graph, hooks);
    ASSERT_TRUE(weights.ok());
    EXPECT_EQ(asked, weights->bytes());
    EXPECT_EQ(Weights::least_bytes(graph), asked - 4 * 64 * 2);  // the fine matrix, counted as two bytes a weight
    EXPECT_EQ(weights->matrix({0}).format, tensor::WeightFormat::bf16);
    EXPECT_EQ(weights->matrix({1}).format, tensor::WeightFormat::f32);
    EXPECT_EQ(weights->formats(), "f32+bf16");
    EXPECT_EQ(weights->vector({0})[29], 1.1F);
    EXPECT_EQ(progress, (std::vector<std::uint64_t>{128, 256, 384}));
    float row[4];
    tensor::unpack_row(weights->matrix({1}), 7, row);
    EXPECT_EQ(row[3], 1.1F);
}

// With sources that are read rather than looked at: the same bytes, whatever the number of threads and pieces.
TEST_F(PackedWeights, ReadsInPiecesGiveTheSameWeights) {
    constexpr std::size_t kOutputs = 1000, kInputs = 1531;  // three pieces of whole tiles, the last one ragged
    std::vector<float> fine(kOutputs * kInputs), coarse(kOutputs * kInputs);
    for (std::size_t i = 0; i < fine.size(); ++i) {
        fine[i] = static_cast<float>(i) * 1.001F;
        coarse[i] = static_cast<float>(i % 251);
    }
    fine.front() = 1;
    graph::Graph graph;
    for (const std::vector<float>* values : {&fine, &coarse})
        graph.matrices.push_back({"m", view(tensor::DataType::f32, values->size(), std::as_bytes(std::span(*values))),
                                  kOutputs, kInputs, values == &fine ? std::size_t{1} : std::size_t{1531}});
    graph.vectors = {{"bias", view(tensor::DataType::f32, 32, std::as_bytes(std::span(fine)).first(128)), 30, 2}};
    const auto plain = pack(graph);
    ASSERT_TRUE(plain.ok());
    EXPECT_EQ(plain->formats(), "f32+bf16");
    for (const int threads : {1, 3}) {
        backend_ = std::move(*backend::cpu::CpuBackend::create(backend::cpu::best_set(), threads));
        std::atomic<std::size_t> reads{0};
        LoadHooks hooks;
        hooks.read = [&](std::span<const std::byte> part, std::byte* out) {
            std::memcpy(out, part.data(), part.size());
            ++reads;
            return true;
        };
        const auto read = pack(graph, hooks);
        ASSERT_TRUE(read.ok());
        EXPECT_GT(reads.load(), 12U);
        for (const std::uint32_t i : {0U, 1U})
            EXPECT_EQ(std::memcmp(read->matrix({i}).data, plain->matrix({i}).data, plain->matrix({i}).bytes()), 0);
        EXPECT_EQ(std::memcmp(read->vector({0}), plain->vector({0}), 30 * sizeof(float)), 0);
    }
}

TEST_F(PackedWeights, AFailedReadOrARefusedSizeEndsTheLoad) {
    const std::vector<float> values(64 * 64, 1.1F);
    graph::Graph graph;
    graph.matrices = {{"m", view(tensor::DataType::f32, values.size(), std::as_bytes(std::span(values))), 64, 64, 1}};
    graph.vectors = {{"v", view(tensor::DataType::f32, 64, std::as_bytes(std::span(values)).first(256)), 64, 0}};
    for (const int good_reads : {0, 1, 2, 3}) {  // looking for the format, packing, the vector; all
        int reads = 0;
        LoadHooks hooks;
        hooks.read = [&](std::span<const std::byte> part, std::byte* out) {
            std::memcpy(out, part.data(), part.size());
            return reads++ < good_reads;
        };
        hooks.read_failure = [](std::span<const std::byte> part) {
            return Error{ErrorCode::io, "read", "file", std::to_string(part.size())};
        };
        const auto weights = pack(graph, hooks);
        EXPECT_EQ(reads, std::min(good_reads + 1, 3));
        if (good_reads == 3) {
            EXPECT_TRUE(weights.ok());
            continue;
        }
        ASSERT_FALSE(weights.ok());
        EXPECT_EQ(weights.error().message, good_reads == 2 ? "256" : "16384");
    }
    LoadHooks hooks;
    hooks.admit = [](std::uint64_t bytes) -> Status {
        return Error{ErrorCode::out_of_memory, "admit", "limit", std::to_string(bytes)};
    };
    EXPECT_EQ(pack(graph, hooks).error().message, std::to_string(64 * 64 * 4 + 256));
}

// More tiles than one piece has, the last incomplete; an odd number of inputs; reordered inputs.
TEST_F(PackedWeights, RoundsToBf16WhereAProductAsksForIt) {
    for (const std::size_t inner : {1U, 3U}) {
        const std::size_t outputs = 9 * 64 + 5, inputs = 9 * 71;
        std::vector<float> fine(outputs * inputs);
        std::vector<std::uint16_t> halves(fine.size());
        for (std::size_t i = 0; i < fine.size(); ++i) {
            fine[i] = 1 + static_cast<float>(i % 4099) * 0x1p-12F;
            halves[i] = tensor::f16_from_float(fine[i]);
        }
        const auto f32 = view(tensor::DataType::f32, fine.size(), std::as_bytes(std::span(fine)));
        const auto f16 = view(tensor::DataType::f16, fine.size(), std::as_bytes(std::span(halves)));
        graph::Graph graph;
        graph.matrices = {{"fine", f32, outputs, inputs, inner, true},
                          {"half", f16, outputs, inputs, inner, true},
                          {"kept", f16, outputs, inputs, inner, false}};
        const auto weights = pack(graph);
        ASSERT_TRUE(weights.ok());
        EXPECT_TRUE(weights->rounded({0}) && weights->rounded({1}) && !weights->rounded({2}));
        EXPECT_EQ(weights->formats(), "bf16+f16");
        std::vector<float> from_fine(inputs), from_half(inputs);
        const auto nearest = [](float x) { return tensor::float_from_bf16(tensor::bf16_from_float(x)); };
        for (std::size_t output = 0; output < outputs; ++output) {
            tensor::unpack_row(weights->matrix({0}), output, from_fine.data());
            tensor::unpack_row(weights->matrix({1}), output, from_half.data());
            for (std::size_t k = 0; k < inputs; ++k) {
                const std::size_t at = output * inputs + k % (inputs / inner) * inner + k / (inputs / inner);
                ASSERT_EQ(from_fine[k], nearest(fine[at])) << output << ", " << k;
                ASSERT_EQ(from_half[k], nearest(tensor::float_from_f16(halves[at]))) << output << ", " << k;
            }
        }
    }
}

TEST_F(PackedWeights, QuantisesWhereAProductAsksForIt) {
    const std::size_t outputs = 600, inputs = 1024;  // several pieces, the last one ragged
    std::vector<float> values(outputs * inputs);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 251) - 125;
    const tensor::QuantisedFormat format{tensor::WeightFormat::q8, {64, tensor::ScaleType::f16}};
    graph::Graph graph;
    graph.matrices = {{"m", view(tensor::DataType::f32, values.size(), std::as_bytes(std::span(values))), outputs,
                       inputs, 1, false, format}};
    const auto weights = pack(graph);
    ASSERT_TRUE(weights.ok());
    EXPECT_EQ(weights->formats(), "q8");
    EXPECT_EQ(Weights::least_bytes(graph), weights->bytes());
    EXPECT_FALSE(weights->rounded({0}));
    std::vector<float> row(inputs);
    for (const std::size_t output : {0U, 255U, 256U, 599U}) {
        tensor::unpack_row(weights->matrix({0}), output, row.data());
        for (std::size_t k = 0; k < inputs; ++k) ASSERT_NEAR(row[k], values[output * inputs + k], 0.6) << output;
    }
    values[5] = 1e9F;
    const auto refused = pack(graph);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
    EXPECT_EQ(refused.error().subject, "m");
    EXPECT_NE(refused.error().message.find("1000000000"), std::string::npos) << refused.error().text();
    EXPECT_NE(refused.error().message.find("8319008"), std::string::npos) << refused.error().text();
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
