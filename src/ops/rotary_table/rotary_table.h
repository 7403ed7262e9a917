// Cosines and sines of rotary positions, several axes at once (xdRoPE, mRoPE, plain rotary with one axis):
//   angle[r, j] = float(positions[axis[j], r]) * inverse_frequency[j % (head_dim / 2)]      (one float product)
//   cosine[r, j] = cos(angle[r, j]),  sine[r, j] = sin(angle[r, j])
// Positions are integers up to 2^24, so that their conversion to float is exact. One form serves all: the table is
// computed once for all layers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace inkstone::ops::rotary_table {

struct Arguments {
    const std::int32_t* positions = nullptr;   // [axes, rows], axis-major, axes position_stride apart
    const std::uint8_t* axis = nullptr;        // [head_dim]: which axis turns element j
    const float* inverse_frequency = nullptr;  // [head_dim / 2]
    float* cosine = nullptr;                   // [rows, head_dim]
    float* sine = nullptr;                     // [rows, head_dim]
    std::size_t rows = 0, head_dim = 0, position_stride = 0;
};

// Rows [first_row, end_row). Disjoint ranges may run at once.
void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row);

}  // namespace inkstone::ops::rotary_table
