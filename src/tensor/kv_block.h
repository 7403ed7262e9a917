// Layout of cached keys and values. A block holds 64 fixed absolute positions of one layer, in one of these types:
//   f32   K [kv_heads][head_dim][64]               positions in lanes: scores of 64 positions come out side by side
//         V [kv_heads][64][padded head_dim]        head_dim in lanes, padded to a multiple of 16
//   bf16  K [kv_heads][head_dim / 2][64][2]        the same with pairs of neighbouring dimensions in a word of 32 bits
//         V [kv_heads][32][padded head_dim][2]     the same with pairs of neighbouring positions in a word
// The first of a pair lies in the lower half of its word: pairs are what BF16 dot products take. head_dim is even in
// bf16. A page is the blocks of all layers for the same 64 positions, one after another. All offsets are in bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace inkstone::tensor {

constexpr std::size_t kBlockPositions = 64;

enum class KvStorage : std::uint8_t { f32, bf16 };

struct KvLayout {
    std::size_t layers = 0;
    std::size_t kv_heads = 0;
    std::size_t head_dim = 0;
    KvStorage storage = KvStorage::f32;

    std::size_t padded_head_dim() const { return (head_dim + 15) / 16 * 16; }
    std::size_t element_bytes() const { return storage == KvStorage::f32 ? 4 : 2; }

    // Of one key/value head in a block.
    std::size_t head_key_bytes() const { return head_dim * kBlockPositions * element_bytes(); }
    std::size_t head_value_bytes() const { return padded_head_dim() * kBlockPositions * element_bytes(); }
    // From the beginning of a block.
    std::size_t key_offset(std::size_t kv_head) const { return kv_head * head_key_bytes(); }
    std::size_t value_offset(std::size_t kv_head) const {
        return kv_heads * head_key_bytes() + kv_head * head_value_bytes();
    }

    std::size_t block_bytes() const { return kv_heads * (head_key_bytes() + head_value_bytes()); }
    std::size_t page_bytes() const { return layers * block_bytes(); }
    // Of a layer's block from the beginning of a page.
    std::size_t layer_offset(std::size_t layer) const { return layer * block_bytes(); }
};

// Errors: unsupported, where blocks of this kind cannot be laid out (an odd head_dim in bf16).
Status check(const KvLayout& layout);

}  // namespace inkstone::tensor
