// Rotary position embedding, half-rotation style (Su et al. 2021): in each head, element i of the first half is paired
// with element i + d/2 of the second:
//   y[i]       = fma(x[i],       cos[i],       -x[i + d/2] * sin[i])
//   y[i + d/2] = fma(x[i + d/2], cos[i + d/2],  x[i]       * sin[i + d/2])
// where the product with sin is rounded once before the fused multiply-add.
#pragma once

#include <cstddef>

namespace inkstone::ops::rotate_half {

struct Arguments {
    const float* x = nullptr;                       // [rows, heads * head_dim]
    float* y = nullptr;                             // the same shape, may be x
    const float* cosine = nullptr;                  // [rows, head_dim], shared by all heads
    const float* sine = nullptr;                    // [rows, head_dim]
    std::size_t rows = 0, heads = 0, head_dim = 0;  // head_dim even
};

// The meaning, in plain loops.
void reference(const Arguments& arguments);

// Rows [first_row, end_row). Disjoint ranges may run at once.
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

}  // namespace inkstone::ops::rotate_half
