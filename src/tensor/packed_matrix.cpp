// Packing checkpoint matrices into tiles, at load, and reading single rows back, for embeddings. Packing runs over
// every byte of a model, so whole tiles are transposed in registers, one source cache line per row at a time; ragged
// ends and reordered inputs take the plain loop.
#include "tensor/packed_matrix.h"

#include <cassert>
#include <cstring>

#include "tensor/half.h"
#include "tensor/quantised_matrix.h"

namespace inkstone::tensor {
namespace {

using Words [[gnu::vector_size(16)]] = std::uint32_t;
using Halves [[gnu::vector_size(16)]] = std::uint16_t;

constexpr std::size_t kLineWords = 16;  // 32-bit words of one row in a cache line

template <class T>
T load(const std::byte* p) {
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
}

// Byte offset of one weight in its tile.
std::size_t offset_in_tile(WeightFormat format, std::size_t output, std::size_t input) {
    switch (format) {
        case WeightFormat::f32:
            return (input * kTileOutputs + output) * 4;
        case WeightFormat::bf16:
            return ((input / 2 * kTileOutputs + output) * 2 + input % 2) * 2;
        case WeightFormat::f16:
            return (input * kTileOutputs + output) * 2;
        case WeightFormat::q8:
        case WeightFormat::q4:
            break;  // tensor/quantised_matrix.cpp
    }
    return 0;
}

// The plain loop: inputs [first_input, inputs) of one tile, whatever their order and however many outputs it has.
void pack_plainly(const MatrixSource& source, WeightFormat format, std::byte* tile, std::size_t first_output,
                  std::size_t first_input) {
    const std::size_t outer = source.inputs / source.inner;
    const std::size_t source_bytes = weight_bytes(source.format), bytes = weight_bytes(format);
    // Little-endian: the upper half of an f32, its bf16, is its last two bytes.
    const std::size_t skip = source_bytes - bytes;
    const std::size_t outputs =
        source.outputs - first_output < kTileOutputs ? source.outputs - first_output : kTileOutputs;
    const std::size_t inputs = PackedMatrix{format, source.outputs, source.inputs, nullptr}.packed_inputs();
    for (std::size_t k = first_input; k < inputs; ++k) {
        const std::size_t column = k % outer * source.inner + k / outer;
        for (std::size_t n = 0; n < kTileOutputs; ++n) {
            std::byte* target = tile + offset_in_tile(format, n, k);
            if (n < outputs && k < source.inputs)
                std::memcpy(target, source.data + ((first_output + n) * source.inputs + column) * source_bytes + skip,
                            bytes);
            else
                std::memset(target, 0, bytes);
        }
    }
}

// Four rows of four words become four columns, written `stride` bytes apart.
void store_transposed(Words a, Words b, Words c, Words d, std::byte* target, std::size_t stride) {
    const Words ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const Words cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    const Words columns[4] = {
        __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5), __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
        __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5), __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
    for (std::size_t i = 0; i < 4; ++i) std::memcpy(target + i * stride, &columns[i], sizeof columns[i]);
}

// Four 32-bit words of one row from word `word` on: floats, or pairs of bf16, which stand beside each other in a row as
// they do in the tile.
template <WeightFormat kFormat>
Words load_words(const MatrixSource& source, std::size_t output, std::size_t word) {
    constexpr std::size_t kInputs = kFormat == WeightFormat::f32 ? 1 : 2;
    const std::byte* p = source.data + (output * source.inputs + word * kInputs) * weight_bytes(source.format);
    if (kFormat == WeightFormat::f32 || source.format != WeightFormat::f32) return load<Words>(p);
    const Halves low = load<Halves>(p), high = load<Halves>(p + sizeof low);  // bf16 from f32: the upper halves
    return reinterpret_cast<Words>(__builtin_shufflevector(low, high, 1, 3, 5, 7, 9, 11, 13, 15));
}

// The whole words of a whole tile of f32 or bf16, four by four; returns how many inputs were packed.
template <WeightFormat kFormat>
std::size_t pack_words(const MatrixSource& source, std::byte* tile, std::size_t first_output) {
    constexpr std::size_t kInputs = kFormat == WeightFormat::f32 ? 1 : 2, kRowBytes = kTileOutputs * 4;
    const std::size_t whole_words = source.inputs / kInputs / 4 * 4;
    for (std::size_t line = 0; line < whole_words; line += kLineWords) {
        const std::size_t line_end = whole_words - line < kLineWords ? whole_words : line + kLineWords;
        for (std::size_t n = 0; n < kTileOutputs; n += 4)
            for (std::size_t word = line; word < line_end; word += 4) {
                Words rows[4];
                for (std::size_t i = 0; i < 4; ++i) rows[i] = load_words<kFormat>(source, first_output + n + i, word);
                store_transposed(rows[0], rows[1], rows[2], rows[3], tile + word * kRowBytes + n * 4, kRowBytes);
            }
    }
    return whole_words * kInputs;
}

// The whole inputs of a whole tile of f16, eight by eight: outputs pair up in the words that are transposed.
std::size_t pack_halves(const MatrixSource& source, std::byte* tile, std::size_t first_output) {
    constexpr std::size_t kInputBytes = kTileOutputs * 2, kLineInputs = 2 * kLineWords;
    const std::size_t whole_inputs = source.inputs / 8 * 8;
    const auto row = [&](std::size_t output, std::size_t input) {
        return load<Halves>(source.data + (output * source.inputs + input) * 2);
    };
    for (std::size_t line = 0; line < whole_inputs; line += kLineInputs) {
        const std::size_t line_end = whole_inputs - line < kLineInputs ? whole_inputs : line + kLineInputs;
        for (std::size_t n = 0; n < kTileOutputs; n += 8)
            for (std::size_t k = line; k < line_end; k += 8) {
                Words first[4], second[4];
                for (std::size_t i = 0; i < 4; ++i) {
                    const std::size_t output = first_output + n + 2 * i;
                    const Halves even = row(output, k), odd = row(output + 1, k);
                    first[i] = reinterpret_cast<Words>(__builtin_shufflevector(even, odd, 0, 8, 1, 9, 2, 10, 3, 11));
                    second[i] = reinterpret_cast<Words>(__builtin_shufflevector(even, odd, 4, 12, 5, 13, 6, 14, 7, 15));
                }
                std::byte* target = tile + k * kInputBytes + n * 2;
                store_transposed(first[0], first[1], first[2], first[3], target, kInputBytes);
                store_transposed(second[0], second[1], second[2], second[3], target + 4 * kInputBytes, kInputBytes);
            }
    }
    return whole_inputs;
}

// The inputs of a whole tile in checkpoint order that can be transposed; returns how many were packed.
std::size_t pack_whole_tile(const MatrixSource& source, WeightFormat format, std::byte* tile,
                            std::size_t first_output) {
    switch (format) {
        case WeightFormat::f32:
            return pack_words<WeightFormat::f32>(source, tile, first_output);
        case WeightFormat::bf16:
            return pack_words<WeightFormat::bf16>(source, tile, first_output);
        case WeightFormat::f16:
            return pack_halves(source, tile, first_output);
        case WeightFormat::q8:
        case WeightFormat::q4:
            break;
    }
    return 0;
}

}  // namespace

WeightFormat narrowest_format(const MatrixSource& source) {
    if (source.format != WeightFormat::f32) return source.format;
    constexpr std::size_t kBlock = 4096;  // look whether to stop this often
    const std::size_t count = source.outputs * source.inputs;
    for (std::size_t block = 0; block < count; block += kBlock) {
        const std::size_t end = count - block < kBlock ? count : block + kBlock;
        std::uint32_t any = 0;
        for (std::size_t i = block; i < end; ++i) any |= load<std::uint32_t>(source.data + i * 4);
        if ((any & 0xffffu) != 0) return WeightFormat::f32;
    }
    return WeightFormat::bf16;
}

void pack(const MatrixSource& source, WeightFormat format, std::byte* packed_data, std::size_t first_tile,
          std::size_t end_tile) {
    assert(!is_quantised(format));
    const PackedMatrix shape{format, source.outputs, source.inputs, packed_data};
    for (std::size_t t = first_tile; t < end_tile; ++t) {
        std::byte* tile = packed_data + t * shape.tile_bytes();
        const std::size_t first_output = t * kTileOutputs;
        std::size_t packed_inputs = 0;
        if (source.inner == 1 && source.outputs - first_output >= kTileOutputs)
            packed_inputs = pack_whole_tile(source, format, tile, first_output);
        pack_plainly(source, format, tile, first_output, packed_inputs);
    }
}

void unpack_row(const PackedMatrix& matrix, std::size_t output, float* row) {
    if (is_quantised(matrix.format)) {
        unpack_quantised_row(matrix, output, row);
        return;
    }
    const std::byte* tile = matrix.tile(output / kTileOutputs);
    for (std::size_t k = 0; k < matrix.inputs; ++k) {
        const std::byte* p = tile + offset_in_tile(matrix.format, output % kTileOutputs, k);
        switch (matrix.format) {
            case WeightFormat::f32:
                row[k] = load<float>(p);
                break;
            case WeightFormat::bf16:
                row[k] = float_from_bf16(load<std::uint16_t>(p));
                break;
            case WeightFormat::f16:
                row[k] = float_from_f16(load<std::uint16_t>(p));
                break;
            case WeightFormat::q8:
            case WeightFormat::q4:
                break;
        }
    }
}

}  // namespace inkstone::tensor
