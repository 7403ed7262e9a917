// Quantise rows to int8: each group of a row is divided by a scale of its own. With m the largest magnitude of a group:
//   scale = m / 127, code[i] = x[i] * (127 / m) rounded to the nearest, ties to even: -127 .. 127
// each operation rounded to float. A group with m below 2^-100 has scale 0 and codes 0; a group with an infinity or a
// NaN has a NaN as scale and codes 0, so that what is computed from it is NaN. Rows are written as
// tensor/quantised_row.h says. A row's result depends on that row alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/quantised_row.h"

namespace inkstone::ops::quantise_rows {

struct Arguments {
    const float* x = nullptr;  // [rows, row.inputs], rows x_stride floats apart
    std::byte* y = nullptr;    // rows of row.bytes(), y_stride bytes apart (a multiple of 4), aligned to 4 bytes
    tensor::QuantisedRow row;
    std::size_t rows = 0, x_stride = 0, y_stride = 0;
};

// Magnitudes below it are zero.
constexpr float kLeast = 0x1p-100f;

// The meaning, in plain loops.
void reference(const Arguments& arguments);

// Quantises rows [first_row, end_row). Disjoint ranges may run at once.
using Kernel = void (*)(const Arguments&, std::size_t first_row, std::size_t end_row);

namespace portable {
void run(const Arguments&, std::size_t, std::size_t);
}
namespace avx2 {
void run(const Arguments&, std::size_t, std::size_t);
}
namespace avx512 {
void run(const Arguments&, std::size_t, std::size_t);
}

}  // namespace inkstone::ops::quantise_rows
