// RMSNorm: y[r, i] = x[r, i] / sqrt(mean_i(x[r, i]^2) + epsilon) * weight[i]   (Zhang & Sennrich 2019).
// The sum of squares runs in 16 lanes (lane i % 16, fused multiply-add, i ascending) and is folded by the fixed tree of
// base/reduce.h. y = (x * scale) * weight with scale = 1 / sqrt(sum / width + epsilon).
// Per-head norms are the same operator on [rows * heads, head_dim].
#pragma once

#include <cstddef>

namespace inkstone::ops::rms_norm {

struct Arguments {
    const float* x = nullptr;       // [rows, width]
    float* y = nullptr;             // [rows, width], may be x
    const float* weight = nullptr;  // [width]
    std::size_t rows = 0, width = 0;
    float epsilon = 0;
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

}  // namespace inkstone::ops::rms_norm
