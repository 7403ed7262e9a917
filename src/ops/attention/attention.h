// Scaled dot-product attention of query rows over cached blocks of 64 positions, with online softmax
// (Vaswani et al. 2017; Milakov & Gimelshein 2018; Dao et al. 2022), grouped queries (Ainslie et al. 2023).
// Row r sees positions 0 .. row_visible[r] - 1 of its sequence. Its result depends on that row alone. Meaning:
//   q' = q * (scale * log2(e)), one product with that constant rounded to float
//   m = -infinity, O[d] = 0, l[16] = 0
//   for each block b with a visible position, in order; j runs over its visible positions only:
//     s[j] = sum over d of k[j, d] * q'[d]           one fma chain from +0, d ascending
//     m' = max_j s[j]; if m' > m + kSlack: c = exp2(m - m'); O[d] = O[d] * c; l[i] = l[i] * c; m = m'
//     p[j] = exp2(s[j] - m);  l[j % 16] = l[j % 16] + p[j], j ascending
//     O[d] = fma(p[j], v[j, d], O[d]), j ascending
//   y[d] = O[d] / fold(l)                            the fixed tree of base/reduce.h
// exp2 is the one of base/elementary.h. Positions that are not visible are never read into a result, so stale or
// uninitialised memory there (even NaN) does no harm. A row with no visible position gives zeros.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/kv_block.h"

namespace inkstone::ops::attention {

struct Arguments {
    const float* q = nullptr;  // [rows, heads * head_dim]
    float* y = nullptr;        // [rows, heads * head_dim]; must not overlap q
    // blocks[s][b] is page b of sequence s; the layer's block begins block_offset bytes into it.
    const std::byte* const* const* blocks = nullptr;
    const std::uint32_t* row_sequence = nullptr;        // [rows]; rows of one sequence stand together
    const std::uint32_t* row_visible = nullptr;         // [rows]
    std::size_t rows = 0, heads = 0, block_offset = 0;  // heads is a multiple of layout.kv_heads
    tensor::KvLayout layout;                            // of f32; head_dim at most kMaximumHeadDim
    float scale = 1;
};

constexpr std::size_t kMaximumHeadDim = 256;
// m follows the largest score only when it is behind by more than this power of two: p stays below 2^kSlack, which
// costs no accuracy, and after the first block O and l are hardly ever corrected.
constexpr float kSlack = 8;

// The meaning, in plain loops.
void reference(const Arguments& arguments);

// Rows [first_row, end_row) of the query heads that share key/value heads [first_kv_head, end_kv_head). Disjoint parts
// may run at once. Reads each block of K and V once for as many rows and heads as fit into registers.
using Kernel = void (*)(const Arguments&, std::size_t first_row, std::size_t end_row, std::size_t first_kv_head,
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

}  // namespace inkstone::ops::attention
