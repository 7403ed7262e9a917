// Layout of cached keys and values. A block holds 64 fixed absolute positions of one layer:
//   K [kv_heads][head_dim][64]            positions in lanes: scores of 64 positions come out side by side
//   V [kv_heads][64][padded head_dim]     head_dim in lanes, padded to a multiple of 16
// A page is the blocks of all layers for the same 64 positions, one after another.
#pragma once

#include <cstddef>

namespace inkstone::tensor {

constexpr std::size_t kBlockPositions = 64;

struct KvLayout {
    std::size_t layers = 0;
    std::size_t kv_heads = 0;
    std::size_t head_dim = 0;

    std::size_t padded_head_dim() const { return (head_dim + 15) / 16 * 16; }
    std::size_t key_floats() const { return kv_heads * head_dim * kBlockPositions; }
    std::size_t value_floats() const { return kv_heads * padded_head_dim() * kBlockPositions; }
    std::size_t block_floats() const { return key_floats() + value_floats(); }
    std::size_t page_floats() const { return layers * block_floats(); }
    std::size_t layer_offset(std::size_t layer) const { return layer * block_floats(); }
};

}  // namespace inkstone::tensor
