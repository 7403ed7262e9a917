// Packed weights: the one copy of a matrix that products, embeddings and the LM head read. A matrix of [outputs,
// inputs] is cut into tiles of 64 outputs; a tile is one strictly forward stream over the inputs, outputs in lanes:
//   f32   [inputs][64]           one float per output
//   bf16  [ceil(inputs / 2)][64][2]   pairs of inputs: a 32-bit word holds input 2 i of its output in the low and input
//                                2 i + 1 in the high half. BF16 arithmetic takes the words as they are; f32 arithmetic
//                                gets input 2 i by a shift and input 2 i + 1 by a mask of the same words
//   f16   [inputs][64]           one half per output
// Outputs beyond the last are zero, and so is the partner of an odd last input. The same bytes serve every instruction
// set and both arithmetics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace inkstone::tensor {

enum class WeightFormat : std::uint8_t { f32, bf16, f16 };

constexpr std::size_t kTileOutputs = 64;

// Bytes of one weight in this format.
constexpr std::size_t weight_bytes(WeightFormat format) { return format == WeightFormat::f32 ? 4 : 2; }

// A packed matrix in somebody else's memory (64-byte aligned). Copying it copies the view.
struct PackedMatrix {
    WeightFormat format = WeightFormat::f32;
    std::size_t outputs = 0;  // N
    std::size_t inputs = 0;   // K
    const std::byte* data = nullptr;

    std::size_t tiles() const { return (outputs + kTileOutputs - 1) / kTileOutputs; }
    // Inputs that a tile has room for: bf16 has whole pairs.
    std::size_t packed_inputs() const { return format == WeightFormat::bf16 ? inputs + inputs % 2 : inputs; }
    std::size_t tile_bytes() const { return packed_inputs() * kTileOutputs * weight_bytes(format); }
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

// One row of the matrix, widened: the embedding of a token. output < matrix.outputs; row has `inputs` floats.
void unpack_row(const PackedMatrix& matrix, std::size_t output, float* row);

}  // namespace inkstone::tensor
