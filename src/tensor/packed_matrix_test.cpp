// Packing: every weight stands where the layout says, ragged and reordered matrices included, and comes back unchanged.
#include "tensor/packed_matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tensor/half.h"
#include "tensor/quantised_matrix.h"

namespace inkstone::tensor {
namespace {

struct Shape {
    std::size_t outputs, inputs, inner;
};

const Shape kShapes[] = {{64, 64, 1},  {1, 1, 1},    {63, 5, 1},    {65, 33, 1}, {128, 12, 1}, {64, 39, 1},
                         {130, 40, 4}, {130, 39, 3}, {64, 108, 36}, {64, 7, 1},  {64, 75, 1}};

// A weight whose bits say which it is, exact in the format: 16 bits in the upper half for bf16.
std::uint32_t weight_bits(WeightFormat format, std::size_t output, std::size_t input) {
    const auto bits = static_cast<std::uint32_t>((output * 131 + input * 7 + 1) & 0x7bff);
    return format == WeightFormat::f32 ? bits << 16 | (bits ^ 0x55aa) : bits;
}

std::vector<std::byte> checkpoint_matrix(WeightFormat format, const Shape& shape) {
    const std::size_t bytes = weight_bytes(format);
    std::vector<std::byte> data(shape.outputs * shape.inputs * bytes);
    for (std::size_t n = 0; n < shape.outputs; ++n)
        for (std::size_t k = 0; k < shape.inputs; ++k) {
            const std::uint32_t bits = weight_bits(format, n, k);
            std::memcpy(&data[(n * shape.inputs + k) * bytes], &bits, bytes);
        }
    return data;
}

std::uint32_t packed_bits(const PackedMatrix& matrix, std::size_t n, std::size_t k) {
    const std::byte* tile = matrix.tile(n / 64);
    const std::size_t i = n % 64;
    std::uint32_t bits = 0;
    if (matrix.format == WeightFormat::f32) {
        std::memcpy(&bits, tile + (k * 64 + i) * 4, 4);
    } else if (matrix.format == WeightFormat::f16) {
        std::memcpy(&bits, tile + (k * 64 + i) * 2, 2);
    } else {
        std::uint32_t word = 0;
        std::memcpy(&word, tile + (k / 2 * 64 + i) * 4, 4);
        bits = k % 2 == 0 ? word & 0xffff : word >> 16;
    }
    return bits;
}

void check(WeightFormat source_format, WeightFormat format, const Shape& shape) {
    SCOPED_TRACE(testing::Message() << shape.outputs << " x " << shape.inputs << " inner " << shape.inner << " format "
                                    << static_cast<int>(format));
    std::vector<std::byte> data = checkpoint_matrix(source_format, shape);
    if (format != source_format)  // f32 that bf16 holds
        for (std::size_t i = 0; i < data.size(); i += 4) data[i] = data[i + 1] = std::byte{0};
    // One byte off, as a tensor in a file may lie.
    std::vector<std::byte> shifted(data.size() + 1);
    std::memcpy(shifted.data() + 1, data.data(), data.size());
    const MatrixSource source{source_format, shape.outputs, shape.inputs, shifted.data() + 1, shape.inner};
    EXPECT_EQ(narrowest_format(source), format);

    PackedMatrix matrix{format, shape.outputs, shape.inputs, nullptr};
    std::vector<std::byte> packed(matrix.bytes() + 64, std::byte{0xee});
    matrix.data = packed.data();
    for (std::size_t t = matrix.tiles(); t-- > 0;) pack(source, format, packed.data(), t, t + 1);
    const std::size_t outer = shape.inputs / shape.inner;
    for (std::size_t n = 0; n < matrix.tiles() * 64; ++n)
        for (std::size_t k = 0; k < matrix.packed_inputs(); ++k) {
            std::uint32_t expected = 0;
            if (n < shape.outputs && k < shape.inputs) {
                expected = weight_bits(source_format, n, k % outer * shape.inner + k / outer);
                if (format != source_format) expected >>= 16;
            }
            ASSERT_EQ(packed_bits(matrix, n, k), expected) << "output " << n << " input " << k;
        }
    for (std::size_t i = matrix.bytes(); i < packed.size(); ++i) ASSERT_EQ(packed[i], std::byte{0xee});

    std::vector<float> row(shape.inputs);
    for (std::size_t n = 0; n < shape.outputs; ++n) {
        unpack_row(matrix, n, row.data());
        for (std::size_t k = 0; k < shape.inputs; ++k) {
            const std::uint32_t bits = packed_bits(matrix, n, k);
            const float expected = format == WeightFormat::f32    ? std::bit_cast<float>(bits)
                                   : format == WeightFormat::bf16 ? float_from_bf16(static_cast<std::uint16_t>(bits))
                                                                  : float_from_f16(static_cast<std::uint16_t>(bits));
            ASSERT_EQ(row[k], expected);
        }
    }
}

TEST(PackedMatrix, PutsEveryWeightInItsPlace) {
    for (const Shape& shape : kShapes) {
        check(WeightFormat::f32, WeightFormat::f32, shape);
        check(WeightFormat::bf16, WeightFormat::bf16, shape);
        check(WeightFormat::f16, WeightFormat::f16, shape);
        check(WeightFormat::f32, WeightFormat::bf16, shape);
    }
}

TEST(PackedMatrix, OneSetLowBitKeepsF32) {
    std::vector<float> weights(3 * 5000, 1.5f);
    MatrixSource source{WeightFormat::f32, 3, 5000, reinterpret_cast<const std::byte*>(weights.data()), 1};
    EXPECT_EQ(narrowest_format(source), WeightFormat::bf16);
    weights.back() = std::bit_cast<float>(std::bit_cast<std::uint32_t>(1.5f) | 0x8000u);
    EXPECT_EQ(narrowest_format(source), WeightFormat::f32);
}

TEST(PackedMatrix, WidensHalves) {
    EXPECT_EQ(float_from_f16(0x3c00), 1.0f);
    EXPECT_EQ(float_from_f16(0xc000), -2.0f);
    EXPECT_EQ(float_from_f16(0x0001), 0x1p-24f);
    EXPECT_EQ(float_from_f16(0x03ff), 0x3ffp-24f);
    EXPECT_EQ(float_from_f16(0x7bff), 65504.0f);
    EXPECT_EQ(float_from_f16(0xfc00), -std::numeric_limits<float>::infinity());
    EXPECT_TRUE(float_from_f16(0x7c01) != float_from_f16(0x7c01));
}

constexpr QuantisedFormat kQuantised[] = {{WeightFormat::q8, {64, ScaleType::f16}},
                                          {WeightFormat::q8, {32, ScaleType::f16}},
                                          {WeightFormat::q8, {0, ScaleType::f32}},
                                          {WeightFormat::q4, {32, ScaleType::f16}},
                                          {WeightFormat::q4, {8, ScaleType::f32}}};

std::size_t group_count(const QuantisedFormat& format) { return format.quantisation.group; }

// [outputs, inputs] of f32, bf16 or f16 with a pattern that all of them hold.
float patterned(std::size_t n, std::size_t k) {
    return static_cast<float>(static_cast<int>(n * 37 + k * 11) % 201 - 100) / 64;
}

std::vector<std::byte> patterned_source(WeightFormat format, std::size_t outputs, std::size_t inputs) {
    std::vector<std::byte> bytes(outputs * inputs * weight_bytes(format));
    for (std::size_t n = 0; n < outputs; ++n)
        for (std::size_t k = 0; k < inputs; ++k) {
            const float value = patterned(n, k);
            const std::uint16_t half = format == WeightFormat::f16 ? f16_from_float(value) : bf16_from_float(value);
            std::byte* to = &bytes[(n * inputs + k) * weight_bytes(format)];
            if (format == WeightFormat::f32)
                std::memcpy(to, &value, 4);
            else
                std::memcpy(to, &half, 2);
        }
    return bytes;
}

// Every weight comes back within half a step of its group, from every source, reordered and ragged matrices included;
// what fills up the last tile and the last words stands for zero.
TEST(QuantisedMatrix, ComesBackWithinHalfAStep) {
    for (const QuantisedFormat& format : kQuantised)
        for (const WeightFormat from : {WeightFormat::f32, WeightFormat::bf16, WeightFormat::f16})
            for (const Shape& shape : kShapes) {
                SCOPED_TRACE(testing::Message()
                             << shape.outputs << " x " << shape.inputs << " groups of " << group_count(format));
                const std::vector<std::byte> source = patterned_source(from, shape.outputs, shape.inputs);
                PackedMatrix matrix{format.format, shape.outputs, shape.inputs, nullptr, format.quantisation};
                std::vector<std::byte> packed(matrix.bytes());
                EXPECT_EQ(quantise({from, shape.outputs, shape.inputs, source.data(), shape.inner}, matrix,
                                   packed.data(), 0, matrix.tiles()),
                          0.0f);
                matrix.data = packed.data();
                std::vector<float> row(shape.inputs);
                const std::size_t outer = shape.inputs / shape.inner;
                for (std::size_t n = 0; n < shape.outputs; ++n) {
                    unpack_row(matrix, n, row.data());
                    for (std::size_t k = 0; k < shape.inputs; ++k) {
                        const std::size_t group = format.quantisation.group == 0 ? 0 : k / format.quantisation.group;
                        const float step = std::abs(scale_of(matrix, n, group));
                        // q4 has no code for the largest number of the other sign: up to a whole step.
                        const float steps = format.format == WeightFormat::q4 ? 1.01f : 0.51f;
                        const float expected = patterned(n, k % outer * shape.inner + k / outer);
                        ASSERT_LE(std::abs(row[k] - expected), step * steps + 1e-3f) << n << ", " << k;
                    }
                    for (std::size_t k = shape.inputs; k < matrix.packed_inputs(); ++k)
                        ASSERT_EQ(code_of(matrix, n, k), 0);
                }
                for (std::size_t n = shape.outputs; n < matrix.tiles() * kTileOutputs; ++n)
                    ASSERT_EQ(code_of(matrix, n, 0), 0);
            }
}

// The layout, byte by byte: scales first, words of four or twice four inputs, 64 outputs side by side.
TEST(QuantisedMatrix, StandsWhereTheLayoutSays) {
    std::vector<float> weights(64 * 40, 0.0f);
    weights[3 * 40 + 0] = 127 * 0.5f;  // output 3: code 127 of scale 0.5
    weights[3 * 40 + 6] = -5 * 0.5f;
    weights[3 * 40 + 33] = -127;  // second group, scale 1
    const auto* bytes = reinterpret_cast<const std::byte*>(weights.data());
    PackedMatrix q8{WeightFormat::q8, 64, 40, nullptr, {32, ScaleType::f16}};
    ASSERT_EQ(q8.tile_bytes(), 2 * 128 + 10 * 256);
    std::vector<std::byte> packed(q8.bytes());
    quantise({WeightFormat::f32, 64, 40, bytes}, q8, packed.data(), 0, 1);
    EXPECT_EQ(packed[2 * 3 + 1], std::byte{0x38});  // 0.5 as f16 is 0x3800
    EXPECT_EQ(packed[128 + 3 * 4], std::byte{255});
    EXPECT_EQ(packed[128 + 256 + 3 * 4 + 2], std::byte{128 - 5});
    EXPECT_EQ(packed[128 + 8 * 256 + 2 * 3 + 1], std::byte{0x3c});
    EXPECT_EQ(packed[128 + 8 * 256 + 128 + 3 * 4 + 1], std::byte{1});
    EXPECT_EQ(packed[128], std::byte{128});

    weights[3 * 40 + 0] = -8 * 0.5f;  // q4: scale 0.5, codes -8 and -5
    PackedMatrix q4{WeightFormat::q4, 64, 40, nullptr, {32, ScaleType::f32}};
    ASSERT_EQ(q4.tile_bytes(), 2 * 256 + 5 * 256);
    packed.assign(q4.bytes(), std::byte{});
    quantise({WeightFormat::f32, 64, 40, bytes}, q4, packed.data(), 0, 1);
    EXPECT_EQ(packed[4 * 3 + 3], std::byte{0x3f});        // 0.5f is 0x3f000000
    EXPECT_EQ(packed[256 + 3 * 4], std::byte{0x80});      // inputs 0 and 4: -8 and 0
    EXPECT_EQ(packed[256 + 3 * 4 + 2], std::byte{0x38});  // inputs 2 and 6: 0 and -5
}

TEST(QuantisedMatrix, ScalesThatAreNotFiniteAreTold) {
    PackedMatrix shape{WeightFormat::q8, 1, 64, nullptr, {64, ScaleType::f16}};
    std::vector<std::byte> packed(shape.bytes());
    const auto told = [&](float weight) {
        std::vector<float> weights(64, 1.0f);
        weights[9] = weight;
        return quantise({WeightFormat::f32, 1, 64, reinterpret_cast<const std::byte*>(weights.data())}, shape,
                        packed.data(), 0, 1);
    };
    EXPECT_EQ(told(-127 * 65504.0f), 0.0f);
    EXPECT_EQ(told(-1e7f), 1e7f);
    EXPECT_EQ(told(std::numeric_limits<float>::quiet_NaN()), std::numeric_limits<float>::infinity());
    EXPECT_EQ(told(1e-30f), 0.0f);
}

}  // namespace
}  // namespace inkstone::tensor
