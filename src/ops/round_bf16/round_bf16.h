// Round to BF16: y[r, i] = x[r, i] as bfloat16, rounded to the nearest, ties to even; a NaN stays a NaN, made quiet;
// denormal numbers are rounded like others (tensor/half.h). A row of BF16 has its width rounded up to even, the last
// one of an odd width being +0, so that products can take pairs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace inkstone::ops::round_bf16 {

struct Arguments {
    const float* x = nullptr;    // [rows, width], rows x_stride floats apart
    std::uint16_t* y = nullptr;  // [rows, padded_width(width)], rows y_stride elements apart
    std::size_t rows = 0, width = 0, x_stride = 0, y_stride = 0;
};

constexpr std::size_t padded_width(std::size_t width) { return width + width % 2; }

// The meaning, in plain loops.
void reference(const Arguments& arguments);

// Rounds rows [first_row, end_row). Disjoint ranges may run at once.
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
namespace avx512_bf16 {
void run(const Arguments&, std::size_t, std::size_t);
}

}  // namespace inkstone::ops::round_bf16
