// Attention in BF16 arithmetic, in lanes: written once, compiled for every instruction set.
//
// A line is one query head of one row. Lines that share a key/value head are taken in tiles; a tile goes through its
// sequence block by block, each block in three phases, so that the keys stay in the first-level cache for all lines,
// and then the values:
//   scores      positions in lanes, a few lines at once in registers
//   weights     softmax within the block, one line after the other, positions in lanes
//   outputs     head_dim in lanes, a few lines at once in registers
// A line's numbers never meet another line's, so the grouping does not change them.
#include <cstddef>
#include <cstdint>

#include "base/elementary.h"
#include "base/simd/flush_denormals.h"
#include "base/simd/lanes.h"
#include "ops/attention_bf16/attention_bf16.h"

namespace inkstone::ops::attention_bf16::INKSTONE_ISA {

#if INKSTONE_FLUSHES_DENORMALS
namespace {

using inkstone::INKSTONE_ISA::Lanes;
using inkstone::INKSTONE_ISA::Mask;

constexpr double kLog2E = 1.4426950408889634;
constexpr std::size_t kBlockLanes = tensor::kBlockPositions / Lanes::kCount;
constexpr std::size_t kBlockPairs = tensor::kBlockPositions / 2;
constexpr std::size_t kWordBytes = 4;                           // a pair of bfloat16 in a block
constexpr std::size_t kLaneBytes = Lanes::kCount * kWordBytes;  // pairs for 16 lanes

// Lines at once, and columns of 16 lanes that so many lines take at once: what fits into the registers, sums and
// operands, with sums enough to hide the latency of a product. The portable form's cost is its emulated fma: more lines
// at once would only make it longer.
#if defined(INKSTONE_ISA_avx512) || defined(INKSTONE_ISA_avx512_bf16)
constexpr std::size_t kGroupLines = 6;
constexpr std::size_t columns_at_once(std::size_t) { return 4; }
#elif defined(INKSTONE_ISA_avx2)
constexpr std::size_t kGroupLines = 6;
constexpr std::size_t columns_at_once(std::size_t lines) { return lines == 1 ? 4 : lines == 2 ? 2 : 1; }
#else
constexpr std::size_t kGroupLines = 1;
constexpr std::size_t columns_at_once(std::size_t) { return 1; }
#endif

// Lines of a tile: as many as its memory holds, whole groups of them.
constexpr std::size_t kTileLines = 48, kTileFloats = kTileLines * 128;
static_assert(kTileLines % kGroupLines == 0 && kTileFloats >= kMaximumHeadDim * kGroupLines);

// Two neighbouring numbers of bfloat16, of a query or of the weights, as a product with words of a block takes them.
#if defined(INKSTONE_ISA_avx512_bf16)
struct Pair {
    std::uint32_t word;
};
#else
struct Pair {
    float first, second;
};
#endif

// sum[l][c] = dot(words of column c, pairs[l * stride], sum[l][c]), the second of each pair first.
template <std::size_t kLines, std::size_t kColumns>
INKSTONE_INLINE void add_pairs(const std::byte* words, const Pair* pairs, std::size_t stride,
                               Lanes (&sum)[kLines][kColumns]) {
#if defined(INKSTONE_ISA_avx512_bf16)
    __m512i column[kColumns];
#pragma GCC unroll 4
    for (std::size_t c = 0; c < kColumns; ++c) column[c] = _mm512_loadu_si512(words + c * kLaneBytes);
#pragma GCC unroll 8
    for (std::size_t l = 0; l < kLines; ++l) {
        const __m512i x = _mm512_set1_epi32(static_cast<int>(pairs[l * stride].word));
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kColumns; ++c) {
            sum[l][c].v =
                _mm512_dpbf16_ps(sum[l][c].v, reinterpret_cast<__m512bh>(column[c]), reinterpret_cast<__m512bh>(x));
        }
    }
#else
    Lanes column[kColumns];
#pragma GCC unroll 4
    for (std::size_t c = 0; c < kColumns; ++c) column[c] = inkstone::INKSTONE_ISA::widen_high(words + c * kLaneBytes);
#pragma GCC unroll 8
    for (std::size_t l = 0; l < kLines; ++l) {
        const Lanes x = Lanes::of(pairs[l * stride].second);
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kColumns; ++c) sum[l][c] = fma(column[c], x, sum[l][c]);
    }
#pragma GCC unroll 4
    for (std::size_t c = 0; c < kColumns; ++c) column[c] = inkstone::INKSTONE_ISA::widen_low(words + c * kLaneBytes);
#pragma GCC unroll 8
    for (std::size_t l = 0; l < kLines; ++l) {
        const Lanes x = Lanes::of(pairs[l * stride].first);
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kColumns; ++c) sum[l][c] = fma(column[c], x, sum[l][c]);
    }
#endif
}

// A tile's lines, in groups of kGroupLines (the last may be smaller).
struct Tile {
    std::size_t lines;
    std::size_t head_dim, padded;                                   // of a query; of a line of `output`
    std::uint32_t visible[kTileLines];                              // positions
    std::uint32_t count[kTileLines];                                // positions of this block that the line sees
    float maximum[kTileLines];                                      // of the scores so far
    alignas(64) Pair query[kTileFloats / 2];                        // per group [head_dim / 2][lines of the group]
    alignas(64) float score[kTileLines * tensor::kBlockPositions];  // [lines][64]; weights take their place
    alignas(64) float sum[kTileLines * Lanes::kCount];              // [lines][16]
    alignas(64) float output[kTileFloats];                          // [lines][padded]
};

// The weights of a line as pairs: they begin where its scores do.
constexpr std::size_t kWeightStride = tensor::kBlockPositions * sizeof(float) / sizeof(Pair);
INKSTONE_INLINE const Pair* weights_of(const Tile& tile, std::size_t line) {
    return reinterpret_cast<const Pair*>(tile.score + line * tensor::kBlockPositions);
}

INKSTONE_INLINE std::size_t smaller(std::size_t a, std::size_t b) { return a < b ? a : b; }

// The first group of a tile fetches the next block into the second-level cache while it works, front to back: pages lie
// anywhere in memory, so the processor cannot foresee them. The other groups fetch nothing (null).

// scores[l][first column ...] of a group. keys: the block's words [head_dim / 2][64] from that column on.
template <std::size_t kLines, std::size_t kColumns, bool kFetch>
INKSTONE_INLINE void score_columns(const std::byte* keys, const std::byte* next_keys, const Pair* query,
                                   std::size_t pairs, float* scores) {
    Lanes sum[kLines][kColumns];
#pragma GCC unroll 8
    for (std::size_t l = 0; l < kLines; ++l) {
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kColumns; ++c) sum[l][c] = Lanes::zero();
    }
#pragma GCC unroll 2
    for (std::size_t i = 0; i < pairs; ++i) {
        if constexpr (kFetch) {
#pragma GCC unroll 4
            for (std::size_t c = 0; c < kColumns; ++c) __builtin_prefetch(next_keys + c * kLaneBytes, 0, 2);
            next_keys += kColumns * kLaneBytes;
        }
        add_pairs<kLines, kColumns>(keys, query, 1, sum);
        keys += tensor::kBlockPositions * kWordBytes;
        query += kLines;
    }
#pragma GCC unroll 8
    for (std::size_t l = 0; l < kLines; ++l) {
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kColumns; ++c)
            sum[l][c].store(scores + l * tensor::kBlockPositions + c * Lanes::kCount);
    }
}

template <std::size_t kLines, bool kFetch>
[[gnu::noinline]] void score_group(const std::byte* keys, const std::byte* next_keys, const Pair* query,
                                   std::size_t pairs, float* scores) {
    constexpr std::size_t kColumns = columns_at_once(kLines);
    for (std::size_t column = 0; column < kBlockLanes; column += kColumns) {
        score_columns<kLines, kColumns, kFetch>(keys + column * kLaneBytes, next_keys + column * kLaneBytes * pairs,
                                                query, pairs, scores + column * Lanes::kCount);
    }
}

// output[l][first column ...] of a group += weights of line l times values, `pairs` pairs of positions, ascending.
// values: words [pairs][padded], output: [kLines][padded], both from that column on.
template <std::size_t kLines, std::size_t kColumns, bool kFetch>
INKSTONE_INLINE void add_columns(const std::byte* values, const std::byte* next_values, const Pair* weights,
                                 std::size_t pairs, std::size_t padded, float* output) {
    Lanes sum[kLines][kColumns];
#pragma GCC unroll 8
    for (std::size_t l = 0; l < kLines; ++l) {
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kColumns; ++c) sum[l][c] = Lanes::load(output + l * padded + c * Lanes::kCount);
    }
#pragma GCC unroll 2
    for (std::size_t i = 0; i < pairs; ++i) {
        if constexpr (kFetch) {
#pragma GCC unroll 4
            for (std::size_t c = 0; c < kColumns; ++c) __builtin_prefetch(next_values + c * kLaneBytes, 0, 2);
            next_values += kColumns * kLaneBytes;
        }
        add_pairs<kLines, kColumns>(values, weights + i, kWeightStride, sum);
        values += padded * kWordBytes;
    }
#pragma GCC unroll 8
    for (std::size_t l = 0; l < kLines; ++l) {
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kColumns; ++c) sum[l][c].store(output + l * padded + c * Lanes::kCount);
    }
}

// `columns` columns, kColumns at a time, then the rest in fewer; 5 as 3 and 2, since a lone column has too few sums.
template <std::size_t kLines, std::size_t kColumns, bool kFetch>
INKSTONE_INLINE void add_all_columns(std::size_t columns, const std::byte* values, const std::byte* next_values,
                                     const Pair* weights, std::size_t pairs, std::size_t padded, float* output) {
    while (columns >= kColumns && !(kColumns == 4 && columns == 5)) {
        add_columns<kLines, kColumns, kFetch>(values, next_values, weights, pairs, padded, output);
        columns -= kColumns;
        values += kColumns * kLaneBytes;
        next_values += kColumns * kLaneBytes * kBlockPairs;
        output += kColumns * Lanes::kCount;
    }
    if constexpr (kColumns > 1) {
        if (columns > 0) {
            add_all_columns<kLines, kColumns - 1, kFetch>(columns, values, next_values, weights, pairs, padded, output);
        }
    }
}

template <std::size_t kLines, bool kFetch>
[[gnu::noinline]] void add_group(const std::byte* values, const std::byte* next_values, const Pair* weights,
                                 std::size_t pairs, std::size_t padded, float* output) {
    add_all_columns<kLines, columns_at_once(kLines), kFetch>(padded / Lanes::kCount, values, next_values, weights,
                                                             pairs, padded, output);
}

// score_group and add_group for a number of lines known at run time.
template <std::size_t kLines = kGroupLines, class... Parameters>
INKSTONE_INLINE void score_lines(std::size_t lines, bool fetch, Parameters... parameters) {
    if constexpr (kLines > 1) {
        if (lines < kLines) return score_lines<kLines - 1>(lines, fetch, parameters...);
    }
    if (fetch)
        score_group<kLines, true>(parameters...);
    else
        score_group<kLines, false>(parameters...);
}
template <std::size_t kLines = kGroupLines, class... Parameters>
INKSTONE_INLINE void add_lines(std::size_t lines, bool fetch, Parameters... parameters) {
    if constexpr (kLines > 1) {
        if (lines < kLines) return add_lines<kLines - 1>(lines, fetch, parameters...);
    }
    if (fetch)
        add_group<kLines, true>(parameters...);
    else
        add_group<kLines, false>(parameters...);
}

// Rounds a line's 64 weights, stores them as pairs, and adds them to its 16 sums.
INKSTONE_INLINE void store_weights(const Lanes (&weight)[kBlockLanes], float* pairs, float* sum_at) {
#if defined(INKSTONE_ISA_avx512_bf16)
    const __m512i ones = _mm512_set1_epi32(0x3f803f80);
    __m512 sum = _mm512_loadu_ps(sum_at);
#pragma GCC unroll 2
    for (std::size_t c = 0; c < kBlockLanes; c += 2) {
        const __m512bh words = _mm512_cvtne2ps_pbh(weight[c + 1].v, weight[c].v);
        _mm512_storeu_si512(pairs + c / 2 * Lanes::kCount, reinterpret_cast<__m512i>(words));
        sum = _mm512_dpbf16_ps(sum, words, reinterpret_cast<__m512bh>(ones));
    }
    _mm512_storeu_ps(sum_at, sum);
#else
#pragma GCC unroll 4
    for (std::size_t c = 0; c < kBlockLanes; ++c) round_to_bf16(weight[c]).store(pairs + c * Lanes::kCount);
    for (std::size_t first = 0; first < tensor::kBlockPositions; first += 2 * Lanes::kCount) {
        for (std::size_t i = 0; i < Lanes::kCount; ++i) {
            sum_at[i] = (sum_at[i] + pairs[first + 2 * i + 1]) + pairs[first + 2 * i];
        }
    }
#endif
}

// Turns the scores of `count` visible positions of a block into weights; the line's maximum, sum and output follow.
template <bool kWhole>
INKSTONE_INLINE void weigh(Tile& tile, std::size_t line, std::size_t count) {
    float* scores = tile.score + line * tensor::kBlockPositions;
    float* sum_at = tile.sum + line * Lanes::kCount;
    Mask seen[kBlockLanes];
    Lanes score[kBlockLanes];
#pragma GCC unroll 4
    for (std::size_t c = 0; c < kBlockLanes; ++c) {
        score[c] = Lanes::load(scores + c * Lanes::kCount);
        if constexpr (!kWhole) {
            alignas(64) float index[Lanes::kCount];
            for (std::size_t i = 0; i < Lanes::kCount; ++i) index[i] = static_cast<float>(c * Lanes::kCount + i);
            seen[c] = less(Lanes::load(index), Lanes::of(static_cast<float>(count)));
            score[c] = select(seen[c], score[c], Lanes::of(-__builtin_inff()));
        }
    }
    // The maximum seldom grows after the first blocks; only then is it folded into one number.
    const Lanes largest = max(max(score[0], score[1]), max(score[2], score[3]));
    Lanes shift = Lanes::of(tile.maximum[line]);
    if (any(less(shift, largest))) {
        const float maximum = fold_max(largest);
        const Lanes correction = exp2(max(Lanes::of(-126.0f), shift - Lanes::of(maximum)));
        float* output = tile.output + line * tile.padded;
        for (std::size_t d = 0; d < tile.padded; d += Lanes::kCount) {
            (Lanes::load(output + d) * correction).store(output + d);
        }
        (Lanes::load(sum_at) * correction).store(sum_at);
        tile.maximum[line] = maximum;
        shift = Lanes::of(maximum);
    }
    Lanes weight[kBlockLanes];
#pragma GCC unroll 4
    for (std::size_t c = 0; c < kBlockLanes; ++c) {
        weight[c] = exp2_short(score[c] - shift);
        if constexpr (!kWhole) weight[c] = select(seen[c], weight[c], Lanes::zero());
    }
    store_weights(weight, scores, sum_at);
}

[[gnu::noinline]] void weigh_lines(Tile& tile) {
    for (std::size_t line = 0; line < tile.lines; ++line) {
        if (tile.count[line] == tensor::kBlockPositions) {
            weigh<true>(tile, line, tensor::kBlockPositions);
        } else if (tile.count[line] > 0) {
            weigh<false>(tile, line, tile.count[line]);
        }
    }
}

// Scales and rounds a query into pairs, `stride` pairs apart.
INKSTONE_INLINE void load_query(const float* q, std::size_t head_dim, float log2_scale, Pair* pairs,
                                std::size_t stride) {
    for (std::size_t first = 0; first < head_dim; first += Lanes::kCount) {
        const std::size_t count = smaller(head_dim - first, Lanes::kCount);
        const Lanes scaled = Lanes::load_first(q + first, count) * Lanes::of(log2_scale);
        Pair chunk[Lanes::kCount / 2];
#if defined(INKSTONE_ISA_avx512_bf16)
        const __m256i words = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(scaled.v));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(chunk), words);
#else
        float rounded[Lanes::kCount];
        round_to_bf16(scaled).store(rounded);
        __builtin_memcpy(chunk, rounded, sizeof chunk);
#endif
        for (std::size_t i = 0; 2 * i < count; ++i) pairs[(first / 2 + i) * stride] = chunk[i];
    }
}

// The words of one key/value head in a block.
struct Block {
    const std::byte *keys, *values;
};

// A line's positions from pair `first_pair` on, which the others of its group do not all see.
void add_rest(Tile& tile, std::size_t line, std::size_t first_pair, const std::byte* values) {
    const std::size_t pairs = tile.count[line] / 2, row_bytes = tile.padded * kWordBytes;
    const Pair* weights = weights_of(tile, line);
    float* output = tile.output + line * tile.padded;
    add_group<1, false>(values + first_pair * row_bytes, values, weights + first_pair, pairs - first_pair, tile.padded,
                        output);
    if (tile.count[line] % 2 == 0) return;
    // The last position's partner is not seen: its half of each word may hold anything and must not be multiplied, not
    // even by zero.
    alignas(64) std::uint32_t words[kMaximumHeadDim];
    __builtin_memcpy(words, values + pairs * row_bytes, row_bytes);
    for (std::size_t d = 0; d < tile.padded; ++d) words[d] &= 0xffffu;
    add_group<1, false>(reinterpret_cast<const std::byte*>(words), values, weights + pairs, 1, tile.padded, output);
}

// Adds one block, whose first position is `first_position`, while `next` is fetched.
INKSTONE_INLINE void add_block(Tile& tile, Block block, Block next, std::size_t first_position) {
    for (std::size_t line = 0; line < tile.lines; ++line) {
        const std::size_t visible = tile.visible[line];
        const std::size_t count = visible > first_position ? visible - first_position : 0;
        tile.count[line] = static_cast<std::uint32_t>(smaller(count, tensor::kBlockPositions));
    }
    const std::size_t pairs = tile.head_dim / 2;
    for (std::size_t first = 0; first < tile.lines; first += kGroupLines) {
        score_lines(smaller(tile.lines - first, kGroupLines), first == 0, block.keys, next.keys,
                    static_cast<const Pair*>(tile.query) + first * pairs, pairs,
                    tile.score + first * tensor::kBlockPositions);
    }
    weigh_lines(tile);
    for (std::size_t first = 0; first < tile.lines; first += kGroupLines) {
        const std::size_t lines = smaller(tile.lines - first, kGroupLines);
        // What all lines of the group see is added for all at once, what only some see for each alone: a position that
        // a line does not see must not even be multiplied by zero.
        std::size_t common = tile.count[first];
        for (std::size_t l = 1; l < lines; ++l) common = smaller(common, tile.count[first + l]);
        add_lines(lines, first == 0, block.values, next.values, weights_of(tile, first), common / 2, tile.padded,
                  tile.output + first * tile.padded);
        for (std::size_t line = first; line < first + lines; ++line) {
            if (tile.count[line] > common / 2 * 2) add_rest(tile, line, common / 2, block.values);
        }
    }
}

[[gnu::noinline]] void finish(const Tile& tile, std::size_t line, float* y) {
    const Lanes total = Lanes::of(fold(Lanes::load(tile.sum + line * Lanes::kCount)));
    const float* output = tile.output + line * tile.padded;
    for (std::size_t d = 0; d < tile.head_dim; d += Lanes::kCount) {
        const Lanes result = tile.visible[line] == 0 ? Lanes::zero() : Lanes::load(output + d) / total;
        result.store_first(y + d, smaller(tile.head_dim - d, Lanes::kCount));
    }
}

[[gnu::noinline]] void run_flushed(const Arguments& arguments, std::size_t first_row, std::size_t end_row,
                                   std::size_t first_kv_head, std::size_t end_kv_head) noexcept {
    const tensor::KvLayout& layout = arguments.layout;
    const std::size_t head_dim = layout.head_dim;
    const std::size_t padded = (head_dim + Lanes::kCount - 1) / Lanes::kCount * Lanes::kCount;
    const std::size_t group = arguments.heads / layout.kv_heads;  // query heads of one key/value head
    const std::size_t key_bytes = head_dim / 2 * tensor::kBlockPositions * kWordBytes;
    const std::size_t value_bytes = kBlockPairs * padded * kWordBytes;
    const auto log2_scale = static_cast<float>(static_cast<double>(arguments.scale) * kLog2E);
    const std::size_t tile_lines = smaller(kTileLines, kTileFloats / padded / kGroupLines * kGroupLines);
    Tile tile;
    tile.head_dim = head_dim;
    tile.padded = padded;
    for (std::size_t kv_head = first_kv_head; kv_head < end_kv_head; ++kv_head) {
        const std::size_t keys = arguments.block_offset + kv_head * key_bytes;
        const std::size_t values = arguments.block_offset + layout.kv_heads * key_bytes + kv_head * value_bytes;
        std::size_t row = first_row, head = 0;  // the next line
        while (row < end_row) {
            const std::uint32_t sequence = arguments.row_sequence[row];
            std::size_t at[kTileLines];  // of the line's query and result
            std::size_t longest = 0;
            tile.lines = 0;
            while (tile.lines < tile_lines && row < end_row && arguments.row_sequence[row] == sequence) {
                at[tile.lines] = (row * arguments.heads + kv_head * group + head) * head_dim;
                tile.visible[tile.lines] = arguments.row_visible[row];
                if (tile.visible[tile.lines] > longest) longest = tile.visible[tile.lines];
                ++tile.lines;
                if (++head == group) head = 0, ++row;
            }
            for (std::size_t first = 0; first < tile.lines; first += kGroupLines) {
                const std::size_t lines = smaller(tile.lines - first, kGroupLines);
                for (std::size_t l = 0; l < lines; ++l) {
                    load_query(arguments.q + at[first + l], head_dim, log2_scale,
                               tile.query + first * (head_dim / 2) + l, lines);
                }
            }
            for (std::size_t line = 0; line < tile.lines; ++line) tile.maximum[line] = -__builtin_inff();
            for (std::size_t i = 0; i < tile.lines * Lanes::kCount; ++i) tile.sum[i] = 0;
            for (std::size_t i = 0; i < tile.lines * padded; ++i) tile.output[i] = 0;
            const std::byte* const* pages = arguments.blocks[sequence];
            for (std::size_t first = 0; first < longest; first += tensor::kBlockPositions) {
                const std::byte* page = pages[first / tensor::kBlockPositions];
                const bool is_last = longest - first <= tensor::kBlockPositions;
                const std::byte* next = is_last ? page : pages[first / tensor::kBlockPositions + 1];
                add_block(tile, {page + keys, page + values}, {next + keys, next + values}, first);
            }
            for (std::size_t line = 0; line < tile.lines; ++line) finish(tile, line, arguments.y + at[line]);
        }
    }
}

}  // namespace

void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row, std::size_t first_kv_head,
         std::size_t end_kv_head) {
    const inkstone::INKSTONE_ISA::FlushDenormals flush;
    run_flushed(arguments, first_row, end_row, first_kv_head, end_kv_head);
}
#else
// No such mode here: as the reference does it.
void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row, std::size_t first_kv_head,
         std::size_t end_kv_head) {
    reference(arguments, first_row, end_row, first_kv_head, end_kv_head);
}
#endif

}  // namespace inkstone::ops::attention_bf16::INKSTONE_ISA
