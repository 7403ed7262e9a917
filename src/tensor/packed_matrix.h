// Packed weights: the one copy of a matrix that products, embeddings and the LM head read. A matrix of [outputs,
// inputs] is cut into tiles of 64 outputs; a tile is one strictly forward stream over the inputs, outputs in lanes:
//   f32   [inputs][64]           one float per output
//   bf16  [ceil(inputs / 2)][64][2]   pairs of inputs: a 32-bit word holds input 2 i of its output in the low and input
//                                2 i + 1 in the high half. BF16 arithmetic takes the words as they are; f32 arithmetic
//                                gets input 2 i by a shift and input 2 i + 1 by a mask of the same words
//   f16   [inputs][64]           one half per output
//   q8    for each group of inputs: scales, then [ceil(group / 4)][64][4] codes: byte c stands for scale * (c - 128)
//   q4    for each group of inputs: scales, then [ceil(group / 8)][64][4] bytes: byte j of a word has the code of input
//                                8 i + j in its low and of 8 i + 4 + j in its high half; c stands for scale * (c - 8)
// with a scale for each of the 64 outputs, f16 or f32 (Quantisation). The last group of a row may be shorter, and what
// it has too much of whole words means zero.
// Outputs beyond the last are zero, and so is the partner of an odd last input. The same bytes serve every instruction
// set and both arithmetics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace inkstone::tensor {

enum class WeightFormat : std::uint8_t { f32, bf16, f16, q8, q4 };

constexpr std::size_t kTileOutputs = 64;

constexpr bool is_quantised(WeightFormat format) { return format == WeightFormat::q8 || format == WeightFormat::q4; }

// Bytes of one weight in this format, which is not quantised.
constexpr std::size_t weight_bytes(WeightFormat format) { return format == WeightFormat::f32 ? 4 : 2; }

enum class ScaleType : std::uint8_t { f16, f32 };

// How a quantised matrix is cut into groups of inputs that share a scale.
struct Quantisation {
    std::size_t group = 0;  // inputs, a multiple of 8; 0: the whole row (per channel)
    ScaleType scale = ScaleType::f16;

    bool operator==(const Quantisation&) const = default;
    std::size_t groups(std::size_t inputs) const { return group == 0 ? 1 : (inputs + group - 1) / group; }
    // Inputs of one group.
    std::size_t size(std::size_t index, std::size_t inputs) const {
        if (group == 0) return inputs;
        const std::size_t left = inputs - index * group;
        return left < group ? left : group;
    }
};

// q8 or q4, and its groups.
struct QuantisedFormat {
    WeightFormat format = WeightFormat::q8;
    Quantisation quantisation = {};

    bool operator==(const QuantisedFormat&) const = default;
};

// A packed matrix in somebody else's memory (64-byte aligned). Copying it copies the view.
struct PackedMatrix {
    WeightFormat format = WeightFormat::f32;
    std::size_t outputs = 0;  // N
    std::size_t inputs = 0;   // K
    const std::byte* data = nullptr;
    Quantisation quantisation = {};  // of q8 and q4

    std::size_t tiles() const { return (outputs + kTileOutputs - 1) / kTileOutputs; }
    // Inputs that a 32-bit word of q8 or q4 holds.
    std::size_t word_inputs() const { return format == WeightFormat::q4 ? 8 : 4; }
    // Inputs that a tile has room for: bf16 has whole pairs, q8 and q4 whole words.
    std::size_t packed_inputs() const {
        if (format == WeightFormat::bf16) return inputs + inputs % 2;
        return is_quantised(format) ? (inputs + word_inputs() - 1) / word_inputs() * word_inputs() : inputs;
    }
    // Bytes of the scales of one group of a tile.
    std::size_t scale_bytes() const { return kTileOutputs * (quantisation.scale == ScaleType::f16 ? 2 : 4); }
    std::size_t tile_bytes() const {
        if (!is_quantised(format)) return packed_inputs() * kTileOutputs * weight_bytes(format);
        return quantisation.groups(inputs) * scale_bytes() + packed_inputs() / word_inputs() * kTileOutputs * 4;
    }
    std::size_t bytes() const { return tiles() * tile_bytes(); }
    const std::byte* tile(std::size_t index) const { return data + index * tile_bytes(); }
};

// A matrix as it lies in a checkpoint: row-major [outputs, inputs], element type `format`, any alignment.
// inner > 1 says that the inputs are [inputs / inner][inner] and are to be read as [inner][inputs / inner]: how a
// convolution kernel [out, channel, height * width] becomes a product over pixels of whole channels.
struct MatrixSource {
    WeightFormat format = WeightFormat::f32;
    std::size_t outputs = 0;
    std::size_t inputs = 0;
    const std::byte* data = nullptr;
    std::size_t inner = 1;
};

// The narrowest format that holds every element exactly: bf16 for an f32 source whose low halves are all zero, the
// source's own format otherwise. Reads the whole source.
WeightFormat narrowest_format(const MatrixSource& source);

// Packs tiles [first_tile, end_tile) of `source` into `packed_data`, the memory of a PackedMatrix of that format.
// `format` is the source's, or bf16 for an f32 source that narrowest_format allows. Disjoint tile ranges may be packed
// by several threads at once.
void pack(const MatrixSource& source, WeightFormat format, std::byte* packed_data, std::size_t first_tile,
          std::size_t end_tile);

// Quantises tiles [first_tile, end_tile) of `source` into `packed_data`, the memory of `shape`, a PackedMatrix of q8 or
// q4 whose own data is not looked at. q8: scale = largest magnitude of the group / 127, as the scale's type holds it,
// codes to nearest within +-127. q4: scale = the number of largest magnitude / -8, codes to nearest within -8 .. 7.
// Returns the largest magnitude in a group that no finite scale holds (infinity for one that is not finite, NaN too),
// or 0 when all went well. Disjoint tile ranges may be quantised by several threads at once.
float quantise(const MatrixSource& source, const PackedMatrix& shape, std::byte* packed_data, std::size_t first_tile,
               std::size_t end_tile);

// One row of the matrix, widened: the embedding of a token. Of q8 and q4 what the codes stand for, rounded to float.
// output < matrix.outputs; row has `inputs` floats.
void unpack_row(const PackedMatrix& matrix, std::size_t output, float* row);

}  // namespace inkstone::tensor
