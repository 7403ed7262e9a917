// Writes keys and values of new rows into their blocks (tensor/kv_block.h). Into bf16 they are rounded to nearest, ties
// to even. Copying: one form serves all instruction sets.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/kv_block.h"

namespace inkstone::ops::kv_store {

struct Arguments {
    const float* k = nullptr;  // [rows, kv_heads * head_dim]
    const float* v = nullptr;  // [rows, kv_heads * head_dim]
    // blocks[s][b] is page b of sequence s; the layer's block begins block_offset bytes into it.
    std::byte* const* const* blocks = nullptr;
    const std::uint32_t* row_sequence = nullptr;  // [rows]
    const std::uint32_t* row_position = nullptr;  // [rows], absolute; its page exists
    std::size_t rows = 0, block_offset = 0;
    tensor::KvLayout layout;
};

// Rows [first_row, end_row). Rows have distinct (sequence, position), so disjoint ranges may run at once, also where
// two positions share a word of bf16 values: each half is written by itself unless the range holds both.
// Lanes of V beyond head_dim are set to zero. Nothing else changes: not the partner of a lone position either.
void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row);

}  // namespace inkstone::ops::kv_store
