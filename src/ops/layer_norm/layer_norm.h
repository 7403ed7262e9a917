// LayerNorm: y = (x - mean) / sqrt(variance + epsilon) * weight + bias, over each row   (Ba et al. 2016).
// mean = sum(x) / width, variance = sum((x - mean)^2) / width; both sums in 16 lanes folded by the fixed tree of
// base/reduce.h; the last step is fma((x - mean) * scale, weight, bias) with scale = 1 / sqrt(variance + epsilon).
#pragma once

#include <cstddef>

namespace inkstone::ops::layer_norm {

struct Arguments {
    const float* x = nullptr;       // [rows, width]
    float* y = nullptr;             // [rows, width], may be x
    const float* weight = nullptr;  // [width]
    const float* bias = nullptr;    // [width]
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

}  // namespace inkstone::ops::layer_norm
