// Linear in BF16 arithmetic: y[r, n] = sum over k of weight[n, k] * x[r, k], then + bias[n]. Inputs and weights are
// bfloat16, sums are floats. Inputs are taken in pairs, in order, by one accumulator per output from +0; the pair of
// inputs 2 i and 2 i + 1 gives two fused multiply-adds, the second input first:
//   sum = fma(weight[n, 2 i + 1], x[r, 2 i + 1], sum)
//   sum = fma(weight[n, 2 i], x[r, 2 i], sum)
// and the bias is added at the end. An odd last input has a partner of +0 and +0. Every operation rounds to nearest
// even and flushes denormal numbers, its inputs and its result, to zero of the same sign (base/flushed_fma.h). This is
// what the processor's BF16 dot product, vdpbf16ps, computes; forms without it do the same by fused multiply-adds. A
// row's result depends on that row alone, whatever the blocking, the threads or the instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/packed_matrix.h"

namespace inkstone::ops::linear_bf16 {

struct Arguments {
    // [rows, weight.packed_inputs()] bfloat16, rows x_stride elements apart (even), rows at multiples of 4 bytes; the
    // partner of an odd last input is +0 (ops/round_bf16 writes such rows).
    const std::uint16_t* x = nullptr;
    float* y = nullptr;           // [rows, weight.outputs], rows y_stride floats apart; must not overlap x
    tensor::PackedMatrix weight;  // format bf16
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
namespace avx512_bf16 {
void run(const Arguments&, std::size_t, std::size_t, std::size_t, std::size_t);
}

}  // namespace inkstone::ops::linear_bf16
