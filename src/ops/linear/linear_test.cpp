// linear: every form equals the reference bit for bit, for every weight format, ragged sizes, any split into row and
// tile ranges, with and without bias, and never writes outside its outputs.
#include "ops/linear/linear.h"

#include <gtest/gtest.h>

#include <string>

#include "tensor/half.h"
#include "testing/buffers.h"
#include "testing/instruction_sets.h"
#include "testing/packed_weights.h"

namespace inkstone::ops::linear {
namespace {

using inkstone::testing::GuardedFloats;
using inkstone::testing::PackedWeights;
using inkstone::testing::random_floats;
using inkstone::testing::same_bits;

struct Case {
    std::size_t rows, outputs, inputs;
};

void check(const Case& size, tensor::WeightFormat format, bool with_bias) {
    const PackedWeights weights(format, size.outputs, size.inputs);
    const std::size_t x_stride = size.inputs + 3, y_stride = size.outputs + 5;
    const std::vector<float> x = random_floats(size.rows * x_stride, 12), bias = random_floats(size.outputs, 13);
    std::vector<float> expected(size.rows * y_stride);
    Arguments arguments{x.data(),  expected.data(), weights.matrix(), with_bias ? bias.data() : nullptr,
                        size.rows, x_stride,        y_stride};
    reference(arguments);
    for (const auto& form : INKSTONE_AVAILABLE_FORMS(ops::linear)) {
        SCOPED_TRACE(name_of(form.set) + ": " + std::to_string(size.rows) + " rows, " + std::to_string(size.outputs) +
                     " x " + std::to_string(size.inputs) + ", format " + std::to_string(static_cast<int>(format)));
        const std::size_t tiles = weights.matrix().tiles();
        // All at once; rows split as threads would; tiles one by one.
        const std::size_t row_steps[] = {size.rows, 1 + size.rows / 3, size.rows};
        const std::size_t tile_steps[] = {tiles, tiles, 1};
        for (int split = 0; split < 3; ++split) {
            GuardedFloats y(size.rows * y_stride);
            arguments.y = y.data();
            for (std::size_t t = 0; t < tiles; t += tile_steps[split])
                for (std::size_t r = 0; r < size.rows; r += row_steps[split])
                    form.run(arguments, r, std::min(size.rows, r + row_steps[split]), t,
                             std::min(tiles, t + tile_steps[split]));
            EXPECT_TRUE(y.guards_intact());
            for (std::size_t r = 0; r < size.rows; ++r) {
                ASSERT_TRUE(same_bits(y.data() + r * y_stride, expected.data() + r * y_stride, size.outputs))
                    << "row " << r << " split " << split;
                for (std::size_t i = size.outputs; i < y_stride; ++i) ASSERT_TRUE(y.untouched(r * y_stride + i));
            }
        }
    }
}

TEST(Linear, EqualsReferenceAtRaggedSizes) {
    for (const tensor::WeightFormat format :
         {tensor::WeightFormat::f32, tensor::WeightFormat::bf16, tensor::WeightFormat::f16}) {
        for (const std::size_t outputs : {1, 15, 16, 17, 63, 64, 65, 100, 130})
            for (const std::size_t inputs : {0, 1, 7, 33}) check({3, outputs, inputs}, format, outputs % 2 == 0);
        for (const std::size_t rows : {0, 1, 2, 4, 5, 6, 7, 8, 11, 12, 13, 16, 17, 23, 24, 35, 36, 37, 150, 300})
            check({rows, 70, 19}, format, rows % 2 == 0);
    }
}

TEST(Linear, EqualsReferenceAcrossBlocksOfInputs) {
    for (const tensor::WeightFormat format :
         {tensor::WeightFormat::f32, tensor::WeightFormat::bf16, tensor::WeightFormat::f16})
        for (const std::size_t inputs : {255, 256, 257, 513, 1100})
            for (const std::size_t rows : {1, 5, 17, 41}) check({rows, 64, inputs}, format, true);
}

TEST(Linear, EqualsReferenceAtModelSizes) {
    for (const std::size_t rows : {1, 2, 16}) {
        check({rows, 192, 1024}, tensor::WeightFormat::bf16, false);
        check({rows, 80, 4304}, tensor::WeightFormat::bf16, true);
    }
}

// What one row gives does not depend on how many others are computed with it.
TEST(Linear, ARowDependsOnThatRowAlone) {
    constexpr std::size_t kRows = 40, kOutputs = 96, kInputs = 600;
    const PackedWeights weights(tensor::WeightFormat::bf16, kOutputs, kInputs);
    const std::vector<float> x = random_floats(kRows * kInputs, 5);
    for (const auto& form : INKSTONE_AVAILABLE_FORMS(ops::linear)) {
        std::vector<float> together(kRows * kOutputs), alone(kRows * kOutputs);
        Arguments arguments{x.data(), together.data(), weights.matrix(), nullptr, kRows, kInputs, kOutputs};
        form.run(arguments, 0, kRows, 0, weights.matrix().tiles());
        arguments.y = alone.data();
        for (std::size_t r = 0; r < kRows; ++r) form.run(arguments, r, r + 1, 0, weights.matrix().tiles());
        EXPECT_TRUE(same_bits(together.data(), alone.data(), alone.size())) << name_of(form.set);
    }
}

// All 65536 halves, widened by each instruction set's own means.
TEST(Linear, WidensEveryHalf) {
    constexpr std::size_t kOutputs = 1 << 16;
    std::vector<std::uint16_t> halves(kOutputs);
    for (std::size_t i = 0; i < kOutputs; ++i) halves[i] = static_cast<std::uint16_t>(i);
    tensor::PackedMatrix matrix{tensor::WeightFormat::f16, kOutputs, 1, nullptr};
    std::vector<std::byte> packed(matrix.bytes());
    matrix.data = packed.data();
    pack({tensor::WeightFormat::f16, kOutputs, 1, reinterpret_cast<const std::byte*>(halves.data()), 1},
         tensor::WeightFormat::f16, packed.data(), 0, matrix.tiles());
    const float one = 1.0f;
    std::vector<float> expected(kOutputs), y(kOutputs);
    for (std::size_t i = 0; i < kOutputs; ++i) expected[i] = 0.0f + tensor::float_from_f16(halves[i]);
    for (const auto& form : INKSTONE_AVAILABLE_FORMS(ops::linear)) {
        form.run({&one, y.data(), matrix, nullptr, 1, 1, kOutputs}, 0, 1, 0, matrix.tiles());
        EXPECT_TRUE(same_bits(y.data(), expected.data(), kOutputs)) << name_of(form.set);
    }
}

}  // namespace
}  // namespace inkstone::ops::linear
