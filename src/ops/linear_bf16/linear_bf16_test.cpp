// linear in BF16 arithmetic: the reference is the formula with denormal numbers flushed; every form equals it bit for
// bit at ragged sizes, any split into row and tile ranges, with and without bias, on ordinary and awkward numbers,
// never writes outside its outputs, and leaves the processor's rounding mode as it was.
#include "ops/linear_bf16/linear_bf16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "base/flushed_fma.h"
#include "tensor/half.h"
#include "testing/buffers.h"
#include "testing/instruction_sets.h"
#include "testing/packed_weights.h"

namespace inkstone::ops::linear_bf16 {
namespace {

using inkstone::testing::GuardedFloats;
using inkstone::testing::PackedWeights;
using inkstone::testing::random_floats;
using inkstone::testing::same_bits;

// Rows of BF16 as round_bf16 writes them: random, the padding of an odd width +0, rubbish behind it.
std::vector<std::uint16_t> random_rows(std::size_t rows, std::size_t inputs, std::size_t stride) {
    const std::vector<float> floats = random_floats(rows * stride, 12);
    std::vector<std::uint16_t> x(floats.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = tensor::bf16_from_float(floats[i]);
    if (inputs % 2 != 0)
        for (std::size_t r = 0; r < rows; ++r) x[r * stride + inputs] = 0;
    return x;
}

// Runs every form in several splits and compares with the reference.
void expect_forms_equal_reference(Arguments arguments) {
    const std::size_t rows = arguments.rows, y_stride = arguments.y_stride, outputs = arguments.weight.outputs;
    std::vector<float> expected(rows * y_stride);
    arguments.y = expected.data();
    reference(arguments);
    for (const auto& form : INKSTONE_AVAILABLE_BF16_FORMS(ops::linear_bf16)) {
        SCOPED_TRACE(name_of(form.set) + ": " + std::to_string(rows) + " rows, " + std::to_string(outputs) + " x " +
                     std::to_string(arguments.weight.inputs));
        const std::size_t tiles = arguments.weight.tiles();
        // All at once; rows split as threads would; tiles one by one.
        const std::size_t row_steps[] = {rows, 1 + rows / 3, rows};
        const std::size_t tile_steps[] = {tiles, tiles, 1};
        for (int split = 0; split < 3; ++split) {
            GuardedFloats y(rows * y_stride);
            arguments.y = y.data();
            for (std::size_t t = 0; t < tiles; t += tile_steps[split])
                for (std::size_t r = 0; r < rows; r += row_steps[split])
                    form.run(arguments, r, std::min(rows, r + row_steps[split]), t,
                             std::min(tiles, t + tile_steps[split]));
            EXPECT_TRUE(y.guards_intact());
            for (std::size_t r = 0; r < rows; ++r) {
                ASSERT_TRUE(same_bits(y.data() + r * y_stride, expected.data() + r * y_stride, outputs))
                    << "row " << r << " split " << split;
                for (std::size_t i = outputs; i < y_stride; ++i) ASSERT_TRUE(y.untouched(r * y_stride + i));
            }
        }
    }
}

void check(std::size_t rows, std::size_t outputs, std::size_t inputs, bool with_bias) {
    const PackedWeights weights(tensor::WeightFormat::bf16, outputs, inputs);
    const std::size_t x_stride = weights.matrix().packed_inputs() + 6;
    const std::vector<std::uint16_t> x = random_rows(rows, inputs, x_stride);
    const std::vector<float> bias = random_floats(outputs, 13);
    expect_forms_equal_reference({.x = x.data(),
                                  .weight = weights.matrix(),
                                  .bias = with_bias ? bias.data() : nullptr,
                                  .rows = rows,
                                  .x_stride = x_stride,
                                  .y_stride = outputs + 5});
}

TEST(LinearBf16, EqualsReferenceAtRaggedSizes) {
    for (const std::size_t outputs : {1, 15, 16, 17, 63, 64, 65, 100, 130})
        for (const std::size_t inputs : {0, 1, 2, 7, 33}) check(3, outputs, inputs, outputs % 2 == 0);
    for (const std::size_t rows : {0, 1, 2, 4, 5, 6, 7, 8, 11, 12, 13, 16, 17, 23, 24, 25, 35, 36, 37, 150, 300})
        check(rows, 70, 19, rows % 2 == 0);
}

TEST(LinearBf16, EqualsReferenceAcrossBlocks) {
    for (const std::size_t inputs : {127, 128, 129, 255, 256, 257, 513, 1100})
        for (const std::size_t rows : {1, 5, 17, 41}) check(rows, 64, inputs, true);
    // More rows than one chunk has whose inputs stay in the cache.
    check(140, 65, 4608, true);
}

TEST(LinearBf16, EqualsReferenceAtModelSizes) {
    for (const std::size_t rows : {1, 2, 16, 17}) {
        check(rows, 192, 1024, false);
        check(rows, 80, 4304, true);
        check(rows, 128, 1152, true);
    }
}

// What one row gives does not depend on how many others are computed with it.
TEST(LinearBf16, ARowDependsOnThatRowAlone) {
    constexpr std::size_t kRows = 61, kOutputs = 96, kInputs = 600;
    const PackedWeights weights(tensor::WeightFormat::bf16, kOutputs, kInputs);
    const std::vector<std::uint16_t> x = random_rows(kRows, kInputs, kInputs);
    for (const auto& form : INKSTONE_AVAILABLE_BF16_FORMS(ops::linear_bf16)) {
        std::vector<float> together(kRows * kOutputs), alone(kRows * kOutputs);
        Arguments arguments{x.data(), together.data(), weights.matrix(), nullptr, kRows, kInputs, kOutputs};
        form.run(arguments, 0, kRows, 0, weights.matrix().tiles());
        arguments.y = alone.data();
        for (std::size_t r = 0; r < kRows; ++r) form.run(arguments, r, r + 1, 0, weights.matrix().tiles());
        EXPECT_TRUE(same_bits(together.data(), alone.data(), alone.size())) << name_of(form.set);
    }
}

// Numbers of every kind: near the smallest normal number, denormal, huge, infinite, NaN, zero of both signs.
TEST(LinearBf16, EqualsReferenceOnAwkwardNumbers) {
    std::mt19937 generator(7);
    const auto number = [&] {
        const std::uint16_t special[] = {0,      0x8000, 0x7f80, 0xff80, 0x7fc0, 0x0001, 0x8001,
                                         0x007f, 0x0080, 0x8080, 0x3f80, 0xbf80, 0x7f7f};
        const std::uint32_t bits = generator();
        switch (bits >> 16 & 7) {
            case 0:
                return special[bits % std::size(special)];
            case 1:
                return static_cast<std::uint16_t>(bits);  // anything
            case 2:
                return static_cast<std::uint16_t>((bits & 0x8000) | bits % 0x180);  // denormal or nearly
            default:
                return static_cast<std::uint16_t>((bits & 0x8000) | (0x1f00 + bits % 0x200));  // squares near 2^-126
        }
    };
    constexpr std::size_t kRows = 26, kOutputs = 80;
    for (const std::size_t inputs : {2, 3, 4, 8}) {
        for (int repetition = 0; repetition < 20; ++repetition) {
            std::vector<std::uint16_t> w(kOutputs * inputs), x(kRows * (inputs + inputs % 2));
            for (std::uint16_t& element : w) element = number();
            for (std::uint16_t& element : x) element = number();
            const PackedWeights weights(w, kOutputs, inputs);
            const std::size_t x_stride = weights.matrix().packed_inputs();
            for (std::size_t r = 0; r < kRows && inputs % 2 != 0; ++r) x[r * x_stride + inputs] = 0;
            const std::vector<float> bias = testing::awkward_floats(kOutputs);
            expect_forms_equal_reference({.x = x.data(),
                                          .weight = weights.matrix(),
                                          .bias = repetition % 2 == 0 ? bias.data() : nullptr,
                                          .rows = kRows,
                                          .x_stride = x_stride,
                                          .y_stride = kOutputs});
        }
    }
}

// One output.
float product(const std::vector<float>& w, const std::vector<float>& x, const float* bias = nullptr) {
    std::vector<std::uint16_t> narrow_w, narrow_x;
    for (const float element : w) narrow_w.push_back(tensor::bf16_from_float(element));
    for (const float element : x) narrow_x.push_back(tensor::bf16_from_float(element));
    const PackedWeights weights(narrow_w, 1, w.size());
    float y = 0;
    reference({narrow_x.data(), &y, weights.matrix(), bias, 1, x.size(), 1});
    return y;
}

TEST(LinearBf16, TheReferenceIsTheFormula) {
    const float bias = 0.5f;
    EXPECT_EQ(product({2, 3}, {5, 7}, &bias), 31.5f);
    EXPECT_EQ(product({2, 3, 4}, {5, 7, 11, 0}), 75.0f);
    // The second of a pair comes first: after 1, it is -1 and then 2^-30. In the other order 2^-30 would be lost.
    EXPECT_EQ(product({1, 0, 0x1p-30f, -1}, {1, 1, 1, 1}), 0x1p-30f);
    EXPECT_EQ(product({1, 0, -1, 0x1p-30f}, {1, 1, 1, 1}), 0.0f);
    // Products are not rounded before they are added.
    EXPECT_EQ(product({-1, 0, 1 + 0x1p-7f, 0}, {1, 0, 1 - 0x1p-7f, 0}), -0x1p-14f);
    // Denormal: inputs, results, bias.
    EXPECT_TRUE(same_bits(product({0x1p-127f, 0}, {0x1p10f, 0}), 0.0f));
    EXPECT_TRUE(same_bits(product({0x1p-100f, 0}, {0x1p-27f, 0}), 0.0f));
    EXPECT_EQ(product({0x1p-100f, 0}, {0x1p-26f, 0}), 0x1p-126f);
    const float small_bias = 0x1p-130f;
    EXPECT_TRUE(same_bits(product({0, 0}, {0, 0}, &small_bias), 0.0f));
    // Infinity times a denormal number is infinity times zero.
    EXPECT_TRUE(std::isnan(product({std::numeric_limits<float>::infinity(), 0}, {0x1p-130f, 0})));
}

// Against sums in double, within the error of float sums.
TEST(LinearBf16, TheReferenceIsNearTheTruth) {
    constexpr std::size_t kInputs = 501, kOutputs = 40;
    const PackedWeights weights(tensor::WeightFormat::bf16, kOutputs, kInputs);
    const std::vector<std::uint16_t> x = random_rows(1, kInputs, kInputs + 1);
    std::vector<float> y(kOutputs), row(kInputs);
    reference({.x = x.data(), .y = y.data(), .weight = weights.matrix(), .rows = 1, .x_stride = 0, .y_stride = 0});
    for (std::size_t n = 0; n < kOutputs; ++n) {
        tensor::unpack_row(weights.matrix(), n, row.data());
        double sum = 0, magnitude = 0;
        for (std::size_t k = 0; k < kInputs; ++k) {
            const double term = static_cast<double>(row[k]) * tensor::float_from_bf16(x[k]);
            sum += term;
            magnitude += std::abs(term);
        }
        EXPECT_NEAR(y[n], sum, magnitude * kInputs * 0x1p-24) << n;
    }
}

// A sum is flushed when it would be denormal with 24 bits and any exponent, though it rounds to a normal number.
TEST(LinearBf16, FlushedFmaFlushesAfterRounding) {
    constexpr float kMin = std::numeric_limits<float>::min();
    // 2^-126 (1 - x): from half of a unit in the 24th bit on it stays.
    EXPECT_EQ(flushed_fma(-0x1p-70f, 0x1p-81f, kMin), kMin);                 // exactly half
    EXPECT_TRUE(same_bits(flushed_fma(-0x1.8p-70f, 0x1p-81f, kMin), 0.0f));  // three quarters
    EXPECT_EQ(flushed_fma(-0x1p-70f, 0x1p-82f, kMin), kMin);
    EXPECT_TRUE(same_bits(flushed_fma(0x1.8p-70f, 0x1p-81f, -kMin), -0.0f));
    EXPECT_TRUE(same_bits(flushed_fma(-0x1.02p-70f, 0x1p-81f, kMin), 0.0f));  // just above half
}

// Forms that flush by a processor mode must not leave it on.
TEST(LinearBf16, LeavesDenormalNumbersAlive) {
    const PackedWeights weights(tensor::WeightFormat::bf16, 64, 8);
    const std::vector<std::uint16_t> x = random_rows(3, 8, 8);
    std::vector<float> y(3 * 64);
    for (const auto& form : INKSTONE_AVAILABLE_BF16_FORMS(ops::linear_bf16)) {
        form.run({x.data(), y.data(), weights.matrix(), nullptr, 3, 8, 64}, 0, 3, 0, 1);
        volatile float smallest = std::numeric_limits<float>::min();
        smallest = smallest * 0.5f;
        EXPECT_GT(smallest, 0.0f) << name_of(form.set);
    }
}

}  // namespace
}  // namespace inkstone::ops::linear_bf16
