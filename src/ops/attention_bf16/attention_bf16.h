// Attention in BF16 arithmetic over cached blocks of bf16 (tensor/kv_block.h): ops/attention with queries, keys, values
// and weights of bfloat16, everything else in float. Row r sees positions 0 .. row_visible[r] - 1 of its sequence; its
// result depends on that row alone. Meaning, where dot(a, b, sum) of two pairs is fma(a[0], b[0], fma(a[1], b[1],
// sum)), the second of the pair first, which is what vdpbf16ps computes:
//   q' = bf16(q * (scale * log2(e)))               one product with that constant rounded to float
//   m = -infinity, O[d] = 0, l[16] = 0
//   for each block b with a visible position, in order; j runs over its visible positions only:
//     s[j] = dot over pairs of d of k[j] and q'    one chain from +0, d ascending
//     m' = max_j s[j]; if m' > m + kSlack: c = exp2(max(-126, m - m')); O[d] = O[d] * c; l[i] = l[i] * c; m = m'
//     p[j] = bf16(exp2_short(s[j] - m))
//     l[i % 16] = dot(p[2 i .. 2 i + 1], {1, 1}, l[i % 16]),              pair i ascending
//     O[d] = dot(p[2 i .. 2 i + 1], v[2 i .. 2 i + 1, d], O[d]),          pair i ascending
//   y[d] = O[d] * (1 / fold(l))                    the fixed tree of base/reduce.h
// The unseen partner of the last visible position counts as p = 0 and v = 0, whatever is stored there. bf16() rounds to
// nearest, ties to even. Every operation flushes denormal numbers, inputs and results, to zero (base/flushed_fma.h).
// l sums the rounded p, so that y is a true mean of the values: equal values come out unchanged. exp2 and exp2_short
// are those of base/elementary.h. Positions that are not visible are never read into a result, so stale or
// uninitialised memory there (even NaN) does no harm. A row with no visible position gives zeros.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/kv_block.h"

namespace inkstone::ops::attention_bf16 {

struct Arguments {
    const float* q = nullptr;  // [rows, heads * head_dim]
    float* y = nullptr;        // [rows, heads * head_dim]; must not overlap q
    // blocks[s][b] is page b of sequence s; the layer's block begins block_offset bytes into it.
    const std::byte* const* const* blocks = nullptr;
    const std::uint32_t* row_sequence = nullptr;        // [rows]; rows of one sequence stand together
    const std::uint32_t* row_visible = nullptr;         // [rows]
    std::size_t rows = 0, heads = 0, block_offset = 0;  // heads is a multiple of layout.kv_heads
    tensor::KvLayout layout;                            // of bf16; head_dim even and at most kMaximumHeadDim
    float scale = 1;
};

constexpr std::size_t kMaximumHeadDim = 256;
// m follows the largest score only when it is behind by more than this power of two: p stays below 2^kSlack, which
// costs no accuracy, and after the first block O and l are hardly ever corrected.
constexpr float kSlack = 8;

// Rows [first_row, end_row) of the query heads that share key/value heads [first_kv_head, end_kv_head). Disjoint parts
// may run at once. Reads each block of K and V once for as many rows and heads as fit into registers.
using Kernel = void (*)(const Arguments&, std::size_t first_row, std::size_t end_row, std::size_t first_kv_head,
                        std::size_t end_kv_head);

// The meaning, in plain loops.
void reference(const Arguments&, std::size_t first_row, std::size_t end_row, std::size_t first_kv_head,
               std::size_t end_kv_head);

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

}  // namespace inkstone::ops::attention_bf16
