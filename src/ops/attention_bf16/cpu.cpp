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
constexpr std::size_t kTileLines = 48, kTileGroups = kTileLines / kGroupLines, kTileFloats = kTileLines * 128;
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

// The same for pair `i` of the positions of a block, of which line l sees the first count[l]: a line that does not see
// the pair keeps its sums, and one that sees only its first position takes 0 for what stands in the second.
template <std::size_t kLines, std::size_t kColumns>
INKSTONE_INLINE void add_edge_pairs(const std::byte* words, const Pair* pairs, std::size_t stride, std::size_t i,
                                    const std::uint32_t* count, Lanes (&sum)[kLines][kColumns]) {
#if defined(INKSTONE_ISA_avx512_bf16)
#pragma GCC unroll 8
    for (std::size_t l = 0; l < kLines; ++l) {
        const auto sees_first = static_cast<__mmask16>(2 * i < count[l] ? 0xffff : 0);
        const __m512i kept = _mm512_set1_epi32(2 * i + 1 < count[l] ? -1 : 0xffff);
        const __m512i x = _mm512_set1_epi32(static_cast<int>(pairs[l * stride].word));
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kColumns; ++c) {
            const __m512i column = _mm512_and_si512(_mm512_loadu_si512(words + c * kLaneBytes), kept);
            sum[l][c].v = _mm512_mask_dpbf16_ps(sum[l][c].v, sees_first, reinterpret_cast<__m512bh>(column),
                                                reinterpret_cast<__m512bh>(x));
        }
    }
#else
    const Lanes first_position = Lanes::of(static_cast<float>(2 * i));
    const Lanes second_position = Lanes::of(static_cast<float>(2 * i + 1));
#pragma GCC unroll 8
    for (std::size_t l = 0; l < kLines; ++l) {
        const Lanes end = Lanes::of(static_cast<float>(count[l]));
        const Mask sees_first = less(first_position, end), sees_second = less(second_position, end);
        const Pair pair = pairs[l * stride];
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kColumns; ++c) {
            const Lanes high = inkstone::INKSTONE_ISA::widen_high(words + c * kLaneBytes);
            const Lanes low = inkstone::INKSTONE_ISA::widen_low(words + c * kLaneBytes);
            const Lanes seen = select(sees_second, high, Lanes::zero());
            const Lanes next = fma(low, Lanes::of(pair.first), fma(seen, Lanes::of(pair.second), sum[l][c]));
            sum[l][c] = select(sees_first, next, sum[l][c]);
        }
    }
#endif
}

// A tile's lines, in groups of kGroupLines (the last may be smaller).
struct Tile {
    std::size_t lines;
    std::size_t head_dim, padded;                                   // of a query; of a line of `output`
    std::uint32_t visible[kTileLines];                              // positions
    std::uint32_t count[kTileLines];                                // positions of this block that the line sees
    float maximum[kTileLines];                                      // m of the meaning
    alignas(64) Pair query[kTileFloats / 2];                        // [lines][padded / 2]
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

// Blocks are fetched into the second-level cache while the one before them is worked on: pages lie anywhere in memory,
// so the processor cannot foresee them. Many groups share the fetching evenly, a line of the cache with each step:
// all at once it would hold up the loads. A few groups are as fast as memory, and the first fetches all it can.
constexpr std::size_t kCacheLine = 64, kManyGroups = 4;
enum class Fetch { none, one, all };
template <Fetch kFetch, std::size_t kColumns>
INKSTONE_INLINE void fetch_step(const std::byte*& next) {
    constexpr std::size_t kLines = kFetch == Fetch::none ? 0 : kFetch == Fetch::one ? 1 : kColumns;
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kLines; ++i) __builtin_prefetch(next + i * kCacheLine, 0, 2);
    next += kLines * kCacheLine;
}

// scores[l][first column ...] of a group. keys: the block's words [head_dim / 2][64] from that column on.
template <std::size_t kLines, std::size_t kColumns, Fetch kFetch>
INKSTONE_INLINE void score_columns(const std::byte* keys, const std::byte*& next_keys, const Pair* query,
                                   std::size_t stride, std::size_t pairs, float* scores) {
    Lanes sum[kLines][kColumns];
#pragma GCC unroll 8
    for (std::size_t l = 0; l < kLines; ++l) {
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kColumns; ++c) sum[l][c] = Lanes::zero();
    }
#pragma GCC unroll 2
    for (std::size_t i = 0; i < pairs; ++i) {
        fetch_step<kFetch, kColumns>(next_keys);
        add_pairs<kLines, kColumns>(keys, query, stride, sum);
        keys += tensor::kBlockPositions * kWordBytes;
        ++query;
    }
#pragma GCC unroll 8
    for (std::size_t l = 0; l < kLines; ++l) {
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kColumns; ++c)
            sum[l][c].store(scores + l * tensor::kBlockPositions + c * Lanes::kCount);
    }
}

// `columns` columns, kColumns at a time, then the rest in fewer.
template <std::size_t kLines, std::size_t kColumns, Fetch kFetch>
INKSTONE_INLINE void score_all_columns(std::size_t columns, const std::byte* keys, const std::byte*& next_keys,
                                       const Pair* query, std::size_t stride, std::size_t pairs, float* scores) {
    while (columns >= kColumns) {
        score_columns<kLines, kColumns, kFetch>(keys, next_keys, query, stride, pairs, scores);
        columns -= kColumns;
        keys += kColumns * kLaneBytes;
        scores += kColumns * Lanes::kCount;
    }
    if constexpr (kColumns > 1) {
        if (columns > 0) {
            score_all_columns<kLines, kColumns - 1, kFetch>(columns, keys, next_keys, query, stride, pairs, scores);
        }
    }
}

template <std::size_t kLines, Fetch kFetch>
[[gnu::noinline]] void score_group(std::size_t columns, const std::byte* keys, const std::byte* next_keys,
                                   const Pair* query, std::size_t stride, std::size_t pairs, float* scores) {
    score_all_columns<kLines, columns_at_once(kLines), kFetch>(columns, keys, next_keys, query, stride, pairs, scores);
}

// What a group of lines adds to its outputs from one block, from some column on.
struct Addition {
    const std::byte* values;       // words [32][padded]
    const std::byte* next_values;  // what to fetch meanwhile
    const Pair* weights;           // [lines][kWeightStride]
    const std::uint32_t* count;    // [lines]: positions that each line sees
    std::size_t common_pairs;      // pairs of which every line sees both positions
    std::size_t pairs;             // pairs of which any line sees a position
    std::size_t padded;
    float* output;  // [lines][padded]
};

// output[l][first column ...] += weights of line l times values, pair after pair.
template <std::size_t kLines, std::size_t kColumns, Fetch kFetch>
INKSTONE_INLINE void add_columns(Addition& a) {
    Lanes sum[kLines][kColumns];
#pragma GCC unroll 8
    for (std::size_t l = 0; l < kLines; ++l) {
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kColumns; ++c) sum[l][c] = Lanes::load(a.output + l * a.padded + c * Lanes::kCount);
    }
    const std::size_t stride = a.padded * kWordBytes;
    const std::byte* values = a.values;
    const Pair *weights = a.weights, *end = a.weights + a.common_pairs;
#pragma GCC unroll 2
    for (; weights != end; ++weights) {
        fetch_step<kFetch, kColumns>(a.next_values);
        add_pairs<kLines, kColumns>(values, weights, kWeightStride, sum);
        values += stride;
    }
    for (std::size_t i = a.common_pairs; i < a.pairs; ++i) {
        add_edge_pairs<kLines, kColumns>(a.values + i * stride, a.weights + i, kWeightStride, i, a.count, sum);
    }
#pragma GCC unroll 8
    for (std::size_t l = 0; l < kLines; ++l) {
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kColumns; ++c) sum[l][c].store(a.output + l * a.padded + c * Lanes::kCount);
    }
}

// `columns` columns, kColumns at a time, then the rest in fewer; 5 as 3 and 2, since a lone column has too few sums.
template <std::size_t kLines, std::size_t kColumns, Fetch kFetch>
INKSTONE_INLINE void add_all_columns(std::size_t columns, Addition& a) {
    while (columns >= kColumns && !(kColumns == 4 && columns == 5)) {
        add_columns<kLines, kColumns, kFetch>(a);
        columns -= kColumns;
        a.values += kColumns * kLaneBytes;
        a.output += kColumns * Lanes::kCount;
    }
    if constexpr (kColumns > 1) {
        if (columns > 0) add_all_columns<kLines, kColumns - 1, kFetch>(columns, a);
    }
}

template <std::size_t kLines, Fetch kFetch>
[[gnu::noinline]] void add_group(Addition& a) {
    add_all_columns<kLines, columns_at_once(kLines), kFetch>(a.padded / Lanes::kCount, a);
}

// score_group and add_group for a number of lines known at run time.
template <std::size_t kLines = kGroupLines, class... Parameters>
INKSTONE_INLINE void score_lines(std::size_t lines, Fetch fetch, Parameters... parameters) {
    if constexpr (kLines > 1) {
        if (lines < kLines) return score_lines<kLines - 1>(lines, fetch, parameters...);
    }
    switch (fetch) {
        case Fetch::none:
            return score_group<kLines, Fetch::none>(parameters...);
        case Fetch::one:
            return score_group<kLines, Fetch::one>(parameters...);
        case Fetch::all:
            return score_group<kLines, Fetch::all>(parameters...);
    }
}
template <std::size_t kLines = kGroupLines>
INKSTONE_INLINE void add_lines(std::size_t lines, Fetch fetch, Addition& a) {
    if constexpr (kLines > 1) {
        if (lines < kLines) return add_lines<kLines - 1>(lines, fetch, a);
    }
    switch (fetch) {
        case Fetch::none:
            return add_group<kLines, Fetch::none>(a);
        case Fetch::one:
            return add_group<kLines, Fetch::one>(a);
        case Fetch::all:
            return add_group<kLines, Fetch::all>(a);
    }
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
    // The maximum seldom grows that far after the first block; only then is it folded into one number.
    const Lanes largest = max(max(score[0], score[1]), max(score[2], score[3]));
    Lanes shift = Lanes::of(tile.maximum[line]);
    if (any(less(shift + Lanes::of(kSlack), largest))) {
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

// Scales and rounds a query into pairs, with zeros up to whole lanes.
INKSTONE_INLINE void load_query(const float* q, std::size_t head_dim, float log2_scale, Pair* pairs) {
    for (std::size_t first = 0; first < head_dim; first += Lanes::kCount, pairs += Lanes::kCount / 2) {
        const Lanes chunk = Lanes::load_first(q + first, smaller(head_dim - first, Lanes::kCount));
        const Lanes scaled = chunk * Lanes::of(log2_scale);
#if defined(INKSTONE_ISA_avx512_bf16)
        const __m256i words = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(scaled.v));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(pairs), words);
#else
        round_to_bf16(scaled).store(&pairs->first);
#endif
    }
}

// The words of one key/value head in a block.
struct Block {
    const std::byte *keys, *values;
};

// Adds one block, whose first position is `first_position`, while `next` is fetched.
INKSTONE_INLINE void add_block(Tile& tile, Block block, Block next, std::size_t first_position) {
    for (std::size_t line = 0; line < tile.lines; ++line) {
        const std::size_t visible = tile.visible[line];
        const std::size_t count = visible > first_position ? visible - first_position : 0;
        tile.count[line] = static_cast<std::uint32_t>(smaller(count, tensor::kBlockPositions));
    }
    // Of each group of lines: the positions that all see, and those that any sees. What only some see is added under
    // masks: a position that a line does not see must not even be multiplied by zero.
    std::uint32_t common[kTileGroups], longest[kTileGroups];
    for (std::size_t first = 0, group = 0; first < tile.lines; first += kGroupLines, ++group) {
        common[group] = longest[group] = tile.count[first];
        for (std::size_t line = first + 1; line < smaller(first + kGroupLines, tile.lines); ++line) {
            if (tile.count[line] < common[group]) common[group] = tile.count[line];
            if (tile.count[line] > longest[group]) longest[group] = tile.count[line];
        }
    }
    const std::size_t groups = (tile.lines + kGroupLines - 1) / kGroupLines, pairs = tile.head_dim / 2;
    const auto fetch = [groups](std::size_t group) __attribute__((always_inline)) {
        return groups >= kManyGroups ? Fetch::one : group == 0 ? Fetch::all : Fetch::none;
    };
    // Bytes that each group fetches.
    const auto share = [groups](std::size_t bytes) __attribute__((always_inline)) {
        return groups >= kManyGroups ? (bytes / kCacheLine + groups - 1) / groups * kCacheLine : 0;
    };
    const std::size_t key_share = share(pairs * tensor::kBlockPositions * kWordBytes);
    const std::size_t value_share = share(kBlockPairs * tile.padded * kWordBytes);
    for (std::size_t first = 0, group = 0; first < tile.lines; first += kGroupLines, ++group) {
        const std::size_t columns = (longest[group] + Lanes::kCount - 1) / Lanes::kCount;
        score_lines(smaller(tile.lines - first, kGroupLines), fetch(group), columns, block.keys,
                    next.keys + group * key_share, static_cast<const Pair*>(tile.query) + first * (tile.padded / 2),
                    tile.padded / 2, pairs, tile.score + first * tensor::kBlockPositions);
    }
    weigh_lines(tile);
    for (std::size_t first = 0, group = 0; first < tile.lines; first += kGroupLines, ++group) {
        Addition addition{block.values,
                          next.values + group * value_share,
                          weights_of(tile, first),
                          tile.count + first,
                          common[group] / 2,
                          (longest[group] + 1) / 2,
                          tile.padded,
                          tile.output + first * tile.padded};
        add_lines(smaller(tile.lines - first, kGroupLines), fetch(group), addition);
    }
}

[[gnu::noinline]] void finish(const Tile& tile, std::size_t line, float* y) {
    const Lanes factor = Lanes::of(1.0f / fold(Lanes::load(tile.sum + line * Lanes::kCount)));
    const float* output = tile.output + line * tile.padded;
    for (std::size_t d = 0; d < tile.head_dim; d += Lanes::kCount) {
        const Lanes result = tile.visible[line] == 0 ? Lanes::zero() : Lanes::load(output + d) * factor;
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
            // Queries lie far apart: all are fetched before the first is waited for.
            for (std::size_t line = 0; line < tile.lines; ++line) {
                for (std::size_t d = 0; d < head_dim; d += Lanes::kCount)
                    __builtin_prefetch(arguments.q + at[line] + d);
            }
            for (std::size_t line = 0; line < tile.lines; ++line) {
                load_query(arguments.q + at[line], head_dim, log2_scale, tile.query + line * (padded / 2));
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
