// Packing: every weight stands where the layout says, ragged and reordered matrices included, and comes back unchanged.
#include "tensor/packed_matrix.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tensor/half.h"

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

}  // namespace
}  // namespace inkstone::tensor
