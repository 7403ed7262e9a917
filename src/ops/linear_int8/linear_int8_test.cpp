// linear in integer arithmetic: the reference is the formula; every form equals it bit for bit for q8 and q4, every
// grouping and type of scale, ragged sizes, any split into row and tile ranges, with and without bias, at the largest
// codes, and never writes outside its outputs.
#include "ops/linear_int8/linear_int8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "ops/quantise_rows/quantise_rows.h"
#include "testing/buffers.h"
#include "testing/instruction_sets.h"
#include "testing/packed_weights.h"

namespace inkstone::ops::linear_int8 {
namespace {

using inkstone::testing::GuardedFloats;
using inkstone::testing::PackedWeights;
using inkstone::testing::random_floats;
using inkstone::testing::same_bits;
using tensor::QuantisedFormat;
using tensor::ScaleType;
using tensor::WeightFormat;

constexpr QuantisedFormat kFormats[] = {
    {WeightFormat::q8, {64, ScaleType::f16}}, {WeightFormat::q8, {32, ScaleType::f16}},
    {WeightFormat::q8, {0, ScaleType::f32}},  {WeightFormat::q8, {16, ScaleType::f32}},
    {WeightFormat::q4, {32, ScaleType::f16}}, {WeightFormat::q4, {64, ScaleType::f32}},
    {WeightFormat::q4, {0, ScaleType::f16}},
};

std::string name_of(QuantisedFormat format) {
    return std::string(format.format == WeightFormat::q8 ? "q8" : "q4") + " in groups of " +
           std::to_string(format.quantisation.group);
}

// Quantised rows, with rubbish between them.
std::vector<std::byte> quantised_rows(const std::vector<float>& x, std::size_t rows, tensor::QuantisedRow row,
                                      std::size_t stride) {
    std::vector<std::byte> y(rows * stride + 1, std::byte{0x5a});
    quantise_rows::reference({x.data(), y.data(), row, rows, row.inputs, stride});
    return y;
}

// Runs every form in several splits and compares with the reference.
void expect_forms_equal_reference(Arguments arguments) {
    const std::size_t rows = arguments.rows, y_stride = arguments.y_stride, outputs = arguments.weight.outputs;
    std::vector<float> expected(rows * y_stride);
    arguments.y = expected.data();
    reference(arguments);
    for (const auto& form : INKSTONE_AVAILABLE_INT8_FORMS(ops::linear_int8)) {
        SCOPED_TRACE(testing::name_of(form.set) + ": " + std::to_string(rows) + " rows, " + std::to_string(outputs) +
                     " x " + std::to_string(arguments.weight.inputs));
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

void check(QuantisedFormat format, std::size_t rows, std::size_t outputs, std::size_t inputs, bool with_bias) {
    SCOPED_TRACE(name_of(format));
    const PackedWeights weights(format, outputs, inputs);
    const tensor::QuantisedRow row{inputs, format.quantisation.group};
    const std::size_t x_stride = row.bytes() + 64;
    const std::vector<std::byte> x = quantised_rows(random_floats(rows * inputs, 12), rows, row, x_stride);
    const std::vector<float> bias = random_floats(outputs, 13);
    expect_forms_equal_reference({.x = x.data(),
                                  .weight = weights.matrix(),
                                  .bias = with_bias ? bias.data() : nullptr,
                                  .rows = rows,
                                  .x_stride = x_stride,
                                  .y_stride = outputs + 5});
}

TEST(LinearInt8, EqualsReferenceAtRaggedSizes) {
    for (const QuantisedFormat format : kFormats) {
        for (const std::size_t inputs : {0, 1, 3, 4, 5, 8, 31, 33, 64, 71, 200})
            for (const std::size_t rows : {1, 2, 7, 26}) check(format, rows, 80, inputs, inputs % 2 == 0);
        for (const std::size_t outputs : {1, 15, 16, 17, 33, 63, 64, 65, 130}) check(format, 4, outputs, 96, true);
        for (const std::size_t rows : {0, 3, 4, 5, 6, 8, 9, 11, 12, 13, 15, 16, 17, 18, 19})
            check(format, rows, 64, 64, false);
    }
}

TEST(LinearInt8, EqualsReferenceAtRealSizes) {
    for (const QuantisedFormat format : kFormats) {
        for (const std::size_t rows : {1, 16}) check(format, rows, 130, 4304, true);
        check(format, 17, 65, 3584, false);
        check(format, 200, 20, 1024, false);
    }
}

// Largest codes of one sign everywhere: pairs of products leave 16 bits.
TEST(LinearInt8, LargestCodesAreExact) {
    for (const QuantisedFormat format : kFormats) {
        SCOPED_TRACE(name_of(format));
        constexpr std::size_t kInputs = 4304, kOutputs = 64;
        for (const float weight : {1.0f, -1.0f}) {
            const PackedWeights weights(format, std::vector<float>(kOutputs * kInputs, weight), kOutputs, kInputs);
            const tensor::QuantisedRow row{kInputs, format.quantisation.group};
            std::vector<float> ones(2 * kInputs, 1.0f);
            std::fill(ones.begin() + kInputs, ones.end(), -1.0f);
            const std::vector<std::byte> x = quantised_rows(ones, 2, row, row.bytes());
            const Arguments arguments{
                .x = x.data(), .weight = weights.matrix(), .rows = 2, .x_stride = row.bytes(), .y_stride = kOutputs};
            expect_forms_equal_reference(arguments);
            std::vector<float> y(2 * kOutputs);
            Arguments direct = arguments;
            direct.y = y.data();
            reference(direct);
            EXPECT_NEAR(y[0], weight * kInputs, kInputs * 2e-3f);
            EXPECT_NEAR(y[kOutputs], -weight * kInputs, kInputs * 2e-3f);
        }
    }
}

// Against sums in double of what codes and scales stand for, within the error of float sums.
TEST(LinearInt8, TheReferenceIsNearTheTruth) {
    constexpr std::size_t kInputs = 501, kOutputs = 40;
    for (const QuantisedFormat format : kFormats) {
        SCOPED_TRACE(name_of(format));
        const PackedWeights weights(format, kOutputs, kInputs);
        const tensor::QuantisedRow row{kInputs, format.quantisation.group};
        const std::vector<std::byte> x = quantised_rows(random_floats(kInputs, 5), 1, row, row.bytes());
        std::vector<float> y(kOutputs), w(kInputs);
        reference({.x = x.data(), .y = y.data(), .weight = weights.matrix(), .rows = 1});
        for (std::size_t n = 0; n < kOutputs; ++n) {
            tensor::unpack_row(weights.matrix(), n, w.data());
            double sum = 0, magnitude = 0;
            for (std::size_t k = 0; k < kInputs; ++k) {
                float scale;
                const std::size_t group = format.quantisation.group == 0 ? 0 : k / format.quantisation.group;
                std::memcpy(&scale, x.data() + row.scales_at() + group * 4, 4);
                const double term = static_cast<double>(w[k]) * scale * static_cast<std::int8_t>(x[k]);
                sum += term;
                magnitude += std::abs(term);
            }
            EXPECT_NEAR(y[n], sum, magnitude * 64 * 0x1p-24) << n;
        }
    }
}

TEST(LinearInt8, WhatIsNotFiniteGivesNaN) {
    const PackedWeights weights(kFormats[0], 64, 128);
    const tensor::QuantisedRow row{128, 64};
    std::vector<float> floats = random_floats(2 * 128, 4);
    floats[100] = std::numeric_limits<float>::infinity();
    const std::vector<std::byte> x = quantised_rows(floats, 2, row, row.bytes());
    for (const auto& form : INKSTONE_AVAILABLE_INT8_FORMS(ops::linear_int8)) {
        std::vector<float> y(2 * 64);
        form.run({x.data(), y.data(), weights.matrix(), nullptr, 2, row.bytes(), 64}, 0, 2, 0, 1);
        for (std::size_t n = 0; n < 64; ++n) {
            EXPECT_TRUE(std::isnan(y[n])) << testing::name_of(form.set);
            EXPECT_TRUE(std::isfinite(y[64 + n])) << testing::name_of(form.set);
        }
    }
}

}  // namespace
}  // namespace inkstone::ops::linear_int8
