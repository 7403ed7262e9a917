// Linear in integer arithmetic, on weights in q8 or q4: y[r, n] = sum over k of weight[n, k] * x[r, k], then + bias[n].
// The inputs are rows quantised by ops/quantise_rows with the weights' groups. In each group the products of codes are
// summed as integers, which is exact; groups are taken in order by one accumulator per output from +0:
//   total = sum over the group of code(n, k) * code(r, k)
//   sum = fma(float(total), scale(n, group) * scale(r, group), sum)
// each operation rounded to the nearest even, and the bias is added at the end. code(n, k) is the stored byte - 128 of
// q8; of q4 it is 16 * (the stored nibble - 8), with scale(n, group) / 16: the nibble is used where it stands in the
// byte, and powers of two change no bit. A row's result depends on that row alone, whatever the blocking, the threads
// or the instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/packed_matrix.h"
#include "tensor/quantised_row.h"

namespace inkstone::ops::linear_int8 {

// Most inputs of a group, and of a row that is one group: totals of 128 * 127 for each of them must stay below 2^22 and
// 2^31.
constexpr std::size_t kMaximumGroup = 128, kMaximumRow = 65536;

struct Arguments {
    // Rows of tensor::QuantisedRow{weight.inputs, weight.quantisation.group}, x_stride bytes apart (a multiple of 4).
    const std::byte* x = nullptr;
    float* y = nullptr;           // [rows, weight.outputs], rows y_stride floats apart; must not overlap x
    tensor::PackedMatrix weight;  // format q8 or q4; groups of at most kMaximumGroup, or rows of kMaximumRow inputs
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
namespace avx512_vnni {
void run(const Arguments&, std::size_t, std::size_t, std::size_t, std::size_t);
}

}  // namespace inkstone::ops::linear_int8
