// Linear: y[r, n] = sum over k of weight[n, k] * x[r, k], then + bias[n].
// One accumulator per output, from +0, k = 0, 1, 2, ... in order, each step one fused multiply-add; the bias is added
// at the end. So a row's result depends on that row alone, whatever the blocking, the threads or the instruction set.
#pragma once

#include <cstddef>

#include "tensor/packed_matrix.h"

namespace inkstone::ops::linear {

struct Arguments {
    const float* x = nullptr;  // [rows, weight.inputs], rows x_stride floats apart
    float* y = nullptr;        // [rows, weight.outputs], rows y_stride floats apart; must not overlap x
    tensor::PackedMatrix weight;
    const float* bias = nullptr;  // [weight.outputs], or none
    std::size_t rows = 0, x_stride = 0, y_stride = 0;
};

// The meaning, in plain loops.
void reference(const Arguments& arguments);

// Computes rows [first_row, end_row) of the outputs of tiles [first_tile, end_tile). Disjoint parts may run at once.
using Kernel = void (*)(const Arguments&, std::size_t first_row, std::size_t end_row, std::size_t first_tile,
                        std::size_t end_tile);

namespace portable {
void run(const Arguments&, std::size_t, std::size_t, std::size_t, std::size_t);
}
namespace avx2 {
void run(const Arguments&, std::size_t, std::size_t, std::size_t, std::size_t);
}
namespace avx512 {
void run(const Arguments&, std::size_t, std::size_t, std::size_t, std::size_t);
}

}  // namespace inkstone::ops::linear
