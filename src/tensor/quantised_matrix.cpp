// Quantising matrices at load, and reading them back. A row is widened to float, each group gets its scale, and its
// codes go to their places in the tile.
#include "tensor/quantised_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tensor/half.h"

namespace inkstone::tensor {
namespace {

constexpr std::size_t kWordBytes = kTileOutputs * 4;  // of one word of every output

template <class T>
T load(const std::byte* p) {
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
}

// Byte offset of a group in its tile. All groups but the last have whole words.
std::size_t group_offset(const PackedMatrix& matrix, std::size_t group) {
    return group * (matrix.scale_bytes() + matrix.quantisation.group / matrix.word_inputs() * kWordBytes);
}

// Byte offset of a code in its tile; of q4 the byte that has it and the other one.
std::size_t code_offset(const PackedMatrix& matrix, std::size_t output, std::size_t input) {
    const std::size_t group = matrix.quantisation.group == 0 ? 0 : input / matrix.quantisation.group;
    const std::size_t inside = input - group * matrix.quantisation.group;
    return group_offset(matrix, group) + matrix.scale_bytes() + inside / matrix.word_inputs() * kWordBytes +
           output * 4 + inside % 4;
}

// Which half of its byte a code of q4 has.
bool in_high_half(const PackedMatrix& matrix, std::size_t input) {
    return matrix.format == WeightFormat::q4 && input % 8 >= 4;  // groups are multiples of 8
}

// Row `output` of a checkpoint's matrix as floats, inputs in the order of the product.
void widen_row(const MatrixSource& source, std::size_t output, float* row) {
    const std::size_t bytes = weight_bytes(source.format), outer = source.inputs / source.inner;
    const std::byte* from = source.data + output * source.inputs * bytes;
    for (std::size_t column = 0; column < source.inputs; ++column) {
        const std::size_t k = source.inner == 1 ? column : column % source.inner * outer + column / source.inner;
        const std::byte* p = from + column * bytes;
        row[k] = source.format == WeightFormat::f32    ? load<float>(p)
                 : source.format == WeightFormat::bf16 ? float_from_bf16(load<std::uint16_t>(p))
                                                       : float_from_f16(load<std::uint16_t>(p));
    }
}

// The number of largest magnitude, the first of equals; NaN if there is one.
float largest(const float* values, std::size_t count) {
    float found = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (std::isnan(values[i])) return values[i];
        if (std::abs(values[i]) > std::abs(found)) found = values[i];
    }
    return found;
}

// Writes a scale and returns it as it is held.
float store_scale(const PackedMatrix& shape, float scale, std::byte* to) {
    if (shape.quantisation.scale == ScaleType::f32) {
        std::memcpy(to, &scale, sizeof scale);
        return scale;
    }
    const std::uint16_t half = f16_from_float(scale);
    std::memcpy(to, &half, sizeof half);
    return float_from_f16(half);
}

// The nearest whole number in a range, ties to even, by adding and taking away 1.5 * 2^23.
int nearest(float value, float low, float high) {
    constexpr float kShift = 12582912.0f;
    return static_cast<int>(std::min(std::max(value, low), high) + kShift - kShift);
}

}  // namespace

float quantise(const MatrixSource& source, const PackedMatrix& shape, std::byte* packed_data, std::size_t first_tile,
               std::size_t end_tile) {
    const Quantisation& quantisation = shape.quantisation;
    const bool nibbles = shape.format == WeightFormat::q4;
    const std::size_t words = shape.word_inputs();
    std::vector<float> row(source.inputs);
    std::vector<std::uint8_t> codes(shape.packed_inputs());
    float too_large = 0;
    for (std::size_t t = first_tile; t < end_tile; ++t) {
        std::byte* tile = packed_data + t * shape.tile_bytes();
        for (std::size_t n = 0; n < kTileOutputs; ++n) {
            const bool exists = t * kTileOutputs + n < source.outputs;
            if (exists)
                widen_row(source, t * kTileOutputs + n, row.data());
            else
                std::fill(row.begin(), row.end(), 0.0f);
            for (std::size_t g = 0; g < quantisation.groups(source.inputs); ++g) {
                const std::size_t count = quantisation.size(g, source.inputs);
                const float* values = row.data() + g * quantisation.group;
                std::byte* to = tile + group_offset(shape, g);
                const float most = largest(values, count);
                const float scale = store_scale(shape, nibbles ? most / -8 : std::abs(most) / 127,
                                                to + n * (shape.scale_bytes() / kTileOutputs));
                if (!std::isfinite(scale))
                    too_large =
                        std::isnan(most) ? std::numeric_limits<float>::infinity() : std::max(too_large, std::abs(most));
                // A scale that is zero or nearly stands for zeros.
                const float inverse = 1 / scale;
                const bool zero = !std::isfinite(inverse) || !std::isfinite(scale);
                const std::uint8_t offset = nibbles ? 8 : 128;
                std::fill(codes.begin(), codes.end(), offset);
                for (std::size_t k = 0; k < count && !zero; ++k)
                    codes[k] = static_cast<std::uint8_t>(
                        (nibbles ? nearest(values[k] * inverse, -8, 7) : nearest(values[k] * inverse, -127, 127)) +
                        offset);
                to += shape.scale_bytes() + n * 4;
                for (std::size_t k = 0; k < count; k += words, to += kWordBytes)
                    for (std::size_t j = 0; j < 4; ++j)
                        to[j] = static_cast<std::byte>(nibbles ? codes[k + j] | codes[k + 4 + j] << 4 : codes[k + j]);
            }
        }
    }
    return too_large;
}

int code_of(const PackedMatrix& matrix, std::size_t output, std::size_t input) {
    const auto byte =
        std::to_integer<int>(matrix.tile(output / kTileOutputs)[code_offset(matrix, output % kTileOutputs, input)]);
    if (matrix.format == WeightFormat::q8) return byte - 128;
    return (in_high_half(matrix, input) ? byte >> 4 : byte & 15) - 8;
}

float scale_of(const PackedMatrix& matrix, std::size_t output, std::size_t group) {
    const std::byte* scales = matrix.tile(output / kTileOutputs) + group_offset(matrix, group);
    const std::size_t n = output % kTileOutputs;
    return matrix.quantisation.scale == ScaleType::f32 ? load<float>(scales + n * 4)
                                                       : float_from_f16(load<std::uint16_t>(scales + n * 2));
}

void unpack_quantised_row(const PackedMatrix& matrix, std::size_t output, float* row) {
    const Quantisation& quantisation = matrix.quantisation;
    for (std::size_t g = 0; g < quantisation.groups(matrix.inputs); ++g) {
        const float scale = scale_of(matrix, output, g);
        const std::size_t first = g * quantisation.group;
        for (std::size_t k = first; k < first + quantisation.size(g, matrix.inputs); ++k)
            row[k] = scale * static_cast<float>(code_of(matrix, output, k));
    }
}

}  // namespace inkstone::tensor
