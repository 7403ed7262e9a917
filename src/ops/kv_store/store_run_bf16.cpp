// KvStore into blocks of bf16. A word of K holds two dimensions of one position, so rows never share one. A word of V
// holds two positions of one dimension: a pair of rows is written in words, a lone row in halves of words, so that
// whoever writes the other half at the same time does no harm.
#include "ops/kv_store/store_run_bf16.h"

#include <cstring>

#include "tensor/half.h"

namespace inkstone::ops::kv_store {
namespace {

using Float4 = float __attribute__((vector_size(16)));
using Word4 = std::uint32_t __attribute__((vector_size(16)));

constexpr std::size_t kTile = 16;  // positions of a tile, and pairs of dimensions

Float4 load(const float* from) {
    Float4 value;
    std::memcpy(&value, from, sizeof value);
    return value;
}
void store(std::uint32_t* to, Word4 value) { std::memcpy(to, &value, sizeof value); }

// tensor::bf16_from_float of four floats, in the upper halves; the lower halves are zero.
Word4 round_to_upper(Float4 value) {
    const auto bits = reinterpret_cast<Word4>(value);
    const Word4 rounded = bits + 0x7FFFU + ((bits >> 16) & 1U);
    const auto is_nan = reinterpret_cast<Word4>((bits & 0x7FFFFFFFU) > 0x7F800000U);
    return ((rounded & ~is_nan) | ((bits | 0x00400000U) & is_nan)) & 0xFFFF0000U;
}
// A word for each lane: `low` and `high` rounded into its halves.
Word4 pair_words(Float4 low, Float4 high) { return (round_to_upper(low) >> 16) | round_to_upper(high); }

std::uint32_t pair_word(float low, float high) {
    return tensor::bf16_from_float(low) | static_cast<std::uint32_t>(tensor::bf16_from_float(high)) << 16;
}

// Four words from eight neighbouring floats: pairs of neighbours.
Word4 neighbour_words(const float* from) {
    const Float4 first = load(from), second = load(from + 4);
    const auto even = __builtin_shuffle(first, second, Word4{0, 2, 4, 6});
    const auto odd = __builtin_shuffle(first, second, Word4{1, 3, 5, 7});
    return pair_words(even, odd);
}

// to[i * to_stride + j] = from[j * from_stride + i] for i, j < 4.
void transpose_4x4(const std::uint32_t* from, std::size_t from_stride, std::uint32_t* to, std::size_t to_stride) {
    Word4 row[4];
    for (std::size_t j = 0; j < 4; ++j) std::memcpy(&row[j], from + j * from_stride, sizeof row[j]);
    const Word4 ab_low = __builtin_shuffle(row[0], row[1], Word4{0, 4, 1, 5});
    const Word4 ab_high = __builtin_shuffle(row[0], row[1], Word4{2, 6, 3, 7});
    const Word4 cd_low = __builtin_shuffle(row[2], row[3], Word4{0, 4, 1, 5});
    const Word4 cd_high = __builtin_shuffle(row[2], row[3], Word4{2, 6, 3, 7});
    store(to, __builtin_shuffle(ab_low, cd_low, Word4{0, 1, 4, 5}));
    store(to + to_stride, __builtin_shuffle(ab_low, cd_low, Word4{2, 3, 6, 7}));
    store(to + 2 * to_stride, __builtin_shuffle(ab_high, cd_high, Word4{0, 1, 4, 5}));
    store(to + 3 * to_stride, __builtin_shuffle(ab_high, cd_high, Word4{2, 3, 6, 7}));
}

// Keys of 16 rows (row_stride floats apart) into 16 neighbouring positions; `pairs` pairs of dimensions.
void store_key_tile(const float* rows, std::size_t row_stride, std::size_t pairs, std::uint32_t* keys) {
    alignas(64) std::uint32_t tile[kTile][kTile];
    std::size_t first = 0;
    for (; pairs - first >= kTile; first += kTile) {
        for (std::size_t j = 0; j < kTile; ++j) {
            const float* from = rows + j * row_stride + 2 * first;
            for (std::size_t i = 0; i < kTile; i += 4) store(&tile[j][i], neighbour_words(from + 2 * i));
        }
        for (std::size_t i = 0; i < kTile; i += 4) {
            std::uint32_t* to = keys + (first + i) * tensor::kBlockPositions;
            for (std::size_t j = 0; j < kTile; j += 4)
                transpose_4x4(&tile[j][i], kTile, to + j, tensor::kBlockPositions);
        }
    }
    for (; first < pairs; ++first) {
        for (std::size_t j = 0; j < kTile; ++j) {
            const float* from = rows + j * row_stride + 2 * first;
            keys[first * tensor::kBlockPositions + j] = pair_word(from[0], from[1]);
        }
    }
}

// Values of the pair of positions whose words are [head_dim], `padded` with the padding.
void store_value_pair(const float* low, const float* high, std::size_t head_dim, std::size_t padded,
                      std::uint32_t* words) {
    std::size_t d = 0;
    for (; head_dim - d >= 4; d += 4) store(words + d, pair_words(load(low + d), load(high + d)));
    for (; d < head_dim; ++d) words[d] = pair_word(low[d], high[d]);
    for (; d < padded; ++d) words[d] = 0;
}

// Values of one position of a pair; the halves of the other one are not touched.
void store_lone_value(const float* v, std::size_t head_dim, std::size_t padded, std::uint16_t* halves) {
    for (std::size_t d = 0; d < head_dim; ++d) halves[2 * d] = tensor::bf16_from_float(v[d]);
    for (std::size_t d = head_dim; d < padded; ++d) halves[2 * d] = 0;
}

}  // namespace

void store_run_bf16(const Arguments& arguments, std::size_t row, std::size_t count, std::byte* block,
                    std::size_t lane) {
    const tensor::KvLayout& layout = arguments.layout;
    const std::size_t head_dim = layout.head_dim, padded = layout.padded_head_dim();
    const std::size_t stride = layout.kv_heads * head_dim, pairs = stride / 2;
    const float* k = arguments.k + row * stride;                           // [count][kv_heads * head_dim]
    std::uint32_t* keys = reinterpret_cast<std::uint32_t*>(block) + lane;  // [kv_heads * head_dim / 2][64]
    std::size_t done = 0;
    for (; count - done >= kTile; done += kTile) store_key_tile(k + done * stride, stride, pairs, keys + done);
    for (; done < count; ++done) {
        for (std::size_t i = 0; i < pairs; ++i) {
            const float* from = k + done * stride + 2 * i;
            keys[i * tensor::kBlockPositions + done] = pair_word(from[0], from[1]);
        }
    }

    for (std::size_t j = 0; j < count;) {
        const float* v = arguments.v + (row + j) * stride;
        const std::size_t position = lane + j;
        const bool is_pair = position % 2 == 0 && j + 1 < count;
        for (std::size_t head = 0; head < layout.kv_heads; ++head) {
            std::byte* words = block + layout.value_offset(head) + position / 2 * padded * sizeof(std::uint32_t);
            if (is_pair) {
                store_value_pair(v + head * head_dim, v + stride + head * head_dim, head_dim, padded,
                                 reinterpret_cast<std::uint32_t*>(words));
            } else {
                store_lone_value(v + head * head_dim, head_dim, padded,
                                 reinterpret_cast<std::uint16_t*>(words) + position % 2);
            }
        }
        j += is_pair ? 2 : 1;
    }
}

}  // namespace inkstone::ops::kv_store
