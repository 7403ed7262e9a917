// Attention in lanes: written once, compiled for every instruction set.
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
#include "base/simd/lanes.h"
#include "ops/attention/attention.h"

namespace inkstone::ops::attention::INKSTONE_ISA {
namespace {

using inkstone::INKSTONE_ISA::Lanes;
using inkstone::INKSTONE_ISA::Mask;

constexpr double kLog2E = 1.4426950408889634;
constexpr std::size_t kBlockLanes = tensor::kBlockPositions / Lanes::kCount;

// Lines at once, and columns of 16 lanes that so many lines take at once (four must divide by it): what fits into the
// registers, sums and operands, with sums enough to hide the latency of fma. The portable form's cost is its emulated
// fma: more lines at once would only make it longer.
#if defined(INKSTONE_ISA_avx512)
constexpr std::size_t kGroupLines = 6;
constexpr std::size_t columns_at_once(std::size_t) { return 4; }
#elif defined(INKSTONE_ISA_avx2)
constexpr std::size_t kGroupLines = 6;
constexpr std::size_t columns_at_once(std::size_t lines) { return lines == 1 ? 4 : lines == 2 ? 2 : 1; }
#else
constexpr std::size_t kGroupLines = 1;
constexpr std::size_t columns_at_once(std::size_t) { return 1; }
#endif
constexpr std::size_t kTileLines = 48;
static_assert(kTileLines % kGroupLines == 0);

// Eight lanes, for a head_dim that ends in the middle of sixteen (72: a tenth of the products with values).
struct HalfLanes {
    static constexpr std::size_t kCount = 8;
#if defined(INKSTONE_ISA_avx2) || defined(INKSTONE_ISA_avx512)
    __m256 v;
    INKSTONE_INLINE static HalfLanes of(float x) { return {_mm256_set1_ps(x)}; }
    INKSTONE_INLINE static HalfLanes load(const float* p) { return {_mm256_loadu_ps(p)}; }
    INKSTONE_INLINE void store(float* p) const { _mm256_storeu_ps(p, v); }
#else
    inkstone::portable::Quad low, high;
    INKSTONE_INLINE static HalfLanes of(float x) {
        const inkstone::portable::Quad quad = {x, x, x, x};
        return {quad, quad};
    }
    INKSTONE_INLINE static HalfLanes load(const float* p) {
        HalfLanes lanes;
        __builtin_memcpy(&lanes, p, sizeof lanes);
        return lanes;
    }
    INKSTONE_INLINE void store(float* p) const { __builtin_memcpy(p, this, sizeof *this); }
#endif
};

INKSTONE_INLINE HalfLanes fma(HalfLanes a, HalfLanes b, HalfLanes c) {
#if defined(INKSTONE_ISA_avx2) || defined(INKSTONE_ISA_avx512)
    return {_mm256_fmadd_ps(a.v, b.v, c.v)};
#else
    return {inkstone::portable::exact_fma(a.low, b.low, c.low), inkstone::portable::exact_fma(a.high, b.high, c.high)};
#endif
}

// A tile's lines, in groups of kGroupLines (the last may be smaller).
struct Tile {
    std::size_t lines;
    std::size_t head_dim, padded;                                    // floats of a query; of a line of `output`
    const float* query[kTileLines];                                  // [head_dim] each
    std::uint32_t visible[kTileLines];                               // positions
    float maximum[kTileLines];                                       // of the scores so far
    alignas(64) float scaled[kTileLines * kMaximumHeadDim];          // per group [head_dim][lines of the group]
    alignas(64) float weight[kTileLines * tensor::kBlockPositions];  // [lines][64]: scores, then their exponentials
    alignas(64) float sum[kTileLines * Lanes::kCount];               // [lines][16]
    alignas(64) float output[kTileLines * kMaximumHeadDim];          // [lines][padded]
};

INKSTONE_INLINE std::size_t padded_to_lanes(std::size_t head_dim) {
    return (head_dim + Lanes::kCount - 1) / Lanes::kCount * Lanes::kCount;
}
INKSTONE_INLINE std::size_t smaller(std::size_t a, std::size_t b) { return a < b ? a : b; }

// The block that will be read next is fetched into the second-level cache meanwhile, front to back: pages lie anywhere
// in memory, so the processor cannot foresee them.

// scores[l][first column ...] of a group. keys: the block's [head_dim][64] from that column on; next_keys: what to
// fetch, as many floats as this reads.
template <std::size_t kLines, std::size_t kColumns>
INKSTONE_INLINE void score_columns(const float* keys, const float* next_keys, const float* scaled, std::size_t head_dim,
                                   float* scores) {
    Lanes sum[kLines][kColumns];
#pragma GCC unroll 8
    for (std::size_t l = 0; l < kLines; ++l) {
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kColumns; ++c) sum[l][c] = Lanes::zero();
    }
#pragma GCC unroll 2
    for (std::size_t d = 0; d < head_dim; ++d) {
        Lanes key[kColumns];
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kColumns; ++c) {
            key[c] = Lanes::load(keys + c * Lanes::kCount);
            __builtin_prefetch(next_keys + c * Lanes::kCount, 0, 2);
        }
#pragma GCC unroll 8
        for (std::size_t l = 0; l < kLines; ++l) {
            const Lanes x = Lanes::of(scaled[l]);
#pragma GCC unroll 4
            for (std::size_t c = 0; c < kColumns; ++c) sum[l][c] = fma(key[c], x, sum[l][c]);
        }
        keys += tensor::kBlockPositions;
        next_keys += kColumns * Lanes::kCount;
        scaled += kLines;
    }
#pragma GCC unroll 8
    for (std::size_t l = 0; l < kLines; ++l) {
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kColumns; ++c)
            sum[l][c].store(scores + l * tensor::kBlockPositions + c * Lanes::kCount);
    }
}

template <std::size_t kLines>
[[gnu::noinline]] void score_group(const float* keys, const float* next_keys, const float* scaled, std::size_t head_dim,
                                   float* scores) {
    constexpr std::size_t kColumns = columns_at_once(kLines);
    for (std::size_t column = 0; column < kBlockLanes; column += kColumns) {
        const std::size_t at = column * Lanes::kCount;
        score_columns<kLines, kColumns>(keys + at, next_keys + at * head_dim, scaled, head_dim, scores + at);
    }
}

// output[l][first column ...] of a group += weight[l][j] * values[j], j ascending. values: [count][padded], output:
// [kLines][padded], both from that column on. next_values: what to fetch, sixteen floats for each column and position.
template <class Vector, std::size_t kLines, std::size_t kColumns>
INKSTONE_INLINE void add_columns(const float* values, const float* next_values, const float* weight, std::size_t count,
                                 std::size_t padded, float* output) {
    Vector sum[kLines][kColumns];
#pragma GCC unroll 8
    for (std::size_t l = 0; l < kLines; ++l) {
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kColumns; ++c) sum[l][c] = Vector::load(output + l * padded + c * Vector::kCount);
    }
#pragma GCC unroll 2
    for (std::size_t j = 0; j < count; ++j) {
        Vector value[kColumns];
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kColumns; ++c) {
            value[c] = Vector::load(values + c * Vector::kCount);
            __builtin_prefetch(next_values + c * Lanes::kCount, 0, 2);
        }
#pragma GCC unroll 8
        for (std::size_t l = 0; l < kLines; ++l) {
            const Vector x = Vector::of(weight[l * tensor::kBlockPositions + j]);
#pragma GCC unroll 4
            for (std::size_t c = 0; c < kColumns; ++c) sum[l][c] = fma(x, value[c], sum[l][c]);
        }
        values += padded;
        next_values += kColumns * Lanes::kCount;
    }
#pragma GCC unroll 8
    for (std::size_t l = 0; l < kLines; ++l) {
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kColumns; ++c) sum[l][c].store(output + l * padded + c * Vector::kCount);
    }
}

template <std::size_t kLines>
[[gnu::noinline]] void add_group(const float* values, const float* next_values, const float* weight, std::size_t count,
                                 std::size_t head_dim, float* output) {
    constexpr std::size_t kColumns = columns_at_once(kLines);
    const std::size_t padded = padded_to_lanes(head_dim);
    // A rest of one to eight goes into half lanes, a longer one into padded lanes.
    const std::size_t whole = (head_dim + HalfLanes::kCount - 1) / Lanes::kCount * Lanes::kCount;
    std::size_t d = 0;
    for (; d + kColumns * Lanes::kCount <= whole; d += kColumns * Lanes::kCount) {
        add_columns<Lanes, kLines, kColumns>(values + d, next_values + d * tensor::kBlockPositions, weight, count,
                                             padded, output + d);
    }
    for (; d < whole; d += Lanes::kCount) {
        add_columns<Lanes, kLines, 1>(values + d, next_values + d * tensor::kBlockPositions, weight, count, padded,
                                      output + d);
    }
    if (d < head_dim) {
        add_columns<HalfLanes, kLines, 1>(values + d, next_values + d * tensor::kBlockPositions, weight, count, padded,
                                          output + d);
    }
}

// score_group and add_group for a number of lines known at run time.
template <std::size_t kLines = kGroupLines, class... Parameters>
INKSTONE_INLINE void score_lines(std::size_t lines, Parameters... parameters) {
    if constexpr (kLines > 1) {
        if (lines < kLines) return score_lines<kLines - 1>(lines, parameters...);
    }
    score_group<kLines>(parameters...);
}
template <std::size_t kLines = kGroupLines, class... Parameters>
INKSTONE_INLINE void add_lines(std::size_t lines, Parameters... parameters) {
    if constexpr (kLines > 1) {
        if (lines < kLines) return add_lines<kLines - 1>(lines, parameters...);
    }
    add_group<kLines>(parameters...);
}

// Turns the scores of `count` visible positions of a block into weights; the line's maximum, sum and output follow.
template <bool kWhole>
INKSTONE_INLINE void weigh(Tile& tile, std::size_t line, std::size_t count) {
    float* weight = tile.weight + line * tensor::kBlockPositions;
    Mask seen[kBlockLanes];
    Lanes score[kBlockLanes];
#pragma GCC unroll 4
    for (std::size_t c = 0; c < kBlockLanes; ++c) {
        score[c] = Lanes::load(weight + c * Lanes::kCount);
        if constexpr (!kWhole) {
            alignas(64) float index[Lanes::kCount];
            for (std::size_t i = 0; i < Lanes::kCount; ++i) index[i] = static_cast<float>(c * Lanes::kCount + i);
            seen[c] = less(Lanes::load(index), Lanes::of(static_cast<float>(count)));
            score[c] = select(seen[c], score[c], Lanes::of(-__builtin_inff()));
        }
    }
    const float block_maximum = fold_max(max(max(score[0], score[1]), max(score[2], score[3])));
    float maximum = tile.maximum[line];
    float* sum_at = tile.sum + line * Lanes::kCount;
    Lanes sum = Lanes::load(sum_at);
    if (block_maximum > maximum) {
        const Lanes correction = exp2(Lanes::of(maximum - block_maximum));
        float* output = tile.output + line * tile.padded;
        for (std::size_t d = 0; d < tile.padded; d += Lanes::kCount) {
            (Lanes::load(output + d) * correction).store(output + d);
        }
        sum = sum * correction;
        maximum = block_maximum;
        tile.maximum[line] = maximum;
    }
    const Lanes shift = Lanes::of(maximum);
#pragma GCC unroll 4
    for (std::size_t c = 0; c < kBlockLanes; ++c) {
        Lanes p = exp2(score[c] - shift);
        if constexpr (!kWhole) p = select(seen[c], p, Lanes::zero());
        p.store(weight + c * Lanes::kCount);
        sum = sum + p;
    }
    sum.store(sum_at);
}

// Reads the queries and begins with nothing seen.
INKSTONE_INLINE void begin(Tile& tile, float log2_scale) {
    for (std::size_t first = 0; first < tile.lines; first += kGroupLines) {
        const std::size_t lines = smaller(tile.lines - first, kGroupLines);
        float* scaled = tile.scaled + first * tile.head_dim;
        for (std::size_t l = 0; l < lines; ++l) {
            for (std::size_t d = 0; d < tile.head_dim; ++d) {
                scaled[d * lines + l] = tile.query[first + l][d] * log2_scale;
            }
        }
    }
    for (std::size_t line = 0; line < tile.lines; ++line) tile.maximum[line] = -__builtin_inff();
    for (std::size_t i = 0; i < tile.lines * Lanes::kCount; ++i) tile.sum[i] = 0;
    for (std::size_t i = 0; i < tile.lines * tile.padded; ++i) tile.output[i] = 0;
}

// The keys and values of one key/value head in a block.
struct Block {
    const float *keys, *values;
};
INKSTONE_INLINE Block block_at(const std::byte* page, std::size_t keys, std::size_t values) {
    return {reinterpret_cast<const float*>(page + keys), reinterpret_cast<const float*>(page + values)};
}

// Adds one block, whose first position is `first_position`, while `next` is fetched.
INKSTONE_INLINE void add_block(Tile& tile, Block block, Block next, std::size_t first_position) {
    std::size_t count[kTileLines];  // positions of this block that the line sees
    for (std::size_t line = 0; line < tile.lines; ++line) {
        const std::size_t visible = tile.visible[line];
        count[line] = visible > first_position ? smaller(visible - first_position, tensor::kBlockPositions) : 0;
    }
    for (std::size_t first = 0; first < tile.lines; first += kGroupLines) {
        const std::size_t lines = smaller(tile.lines - first, kGroupLines);
        score_lines(lines, block.keys, next.keys, tile.scaled + first * tile.head_dim, tile.head_dim,
                    tile.weight + first * tensor::kBlockPositions);
    }
    for (std::size_t line = 0; line < tile.lines; ++line) {
        if (count[line] == tensor::kBlockPositions) {
            weigh<true>(tile, line, tensor::kBlockPositions);
        } else if (count[line] > 0) {
            weigh<false>(tile, line, count[line]);
        }
    }
    for (std::size_t first = 0; first < tile.lines; first += kGroupLines) {
        const std::size_t lines = smaller(tile.lines - first, kGroupLines);
        // What all lines of the group see is added for all at once, what only some see for each alone: a position that
        // a line does not see must not even be multiplied by zero.
        std::size_t common = count[first];
        for (std::size_t l = 1; l < lines; ++l) common = smaller(common, count[first + l]);
        add_lines(lines, block.values, next.values, tile.weight + first * tensor::kBlockPositions, common,
                  tile.head_dim, tile.output + first * tile.padded);
        for (std::size_t line = first; line < first + lines; ++line) {
            if (count[line] > common) {
                const std::size_t skip = common * tile.padded;
                add_group<1>(block.values + skip, next.values, tile.weight + line * tensor::kBlockPositions + common,
                             count[line] - common, tile.head_dim, tile.output + line * tile.padded);
            }
        }
    }
}

INKSTONE_INLINE void finish(const Tile& tile, std::size_t line, float* y) {
    const Lanes total = Lanes::of(fold(Lanes::load(tile.sum + line * Lanes::kCount)));
    const float* output = tile.output + line * tile.padded;
    for (std::size_t d = 0; d < tile.head_dim; d += Lanes::kCount) {
        const Lanes result = tile.visible[line] == 0 ? Lanes::zero() : Lanes::load(output + d) / total;
        result.store_first(y + d, smaller(tile.head_dim - d, Lanes::kCount));
    }
}

}  // namespace

void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row, std::size_t first_kv_head,
         std::size_t end_kv_head) {
    const tensor::KvLayout& layout = arguments.layout;
    const std::size_t head_dim = layout.head_dim, padded = padded_to_lanes(head_dim);
    const std::size_t group = arguments.heads / layout.kv_heads;  // query heads of one key/value head
    const auto log2_scale = static_cast<float>(static_cast<double>(arguments.scale) * kLog2E);
    Tile tile;
    tile.head_dim = head_dim;
    tile.padded = padded;
    for (std::size_t kv_head = first_kv_head; kv_head < end_kv_head; ++kv_head) {
        const std::size_t head_floats = head_dim * tensor::kBlockPositions;
        const std::size_t keys = arguments.block_offset + kv_head * head_floats * sizeof(float);
        const std::size_t values =
            arguments.block_offset +
            (layout.kv_heads * head_floats + kv_head * padded * tensor::kBlockPositions) * sizeof(float);
        std::size_t row = first_row, head = 0;  // the next line
        while (row < end_row) {
            const std::uint32_t sequence = arguments.row_sequence[row];
            float* result[kTileLines];
            std::size_t longest = 0;
            tile.lines = 0;
            while (tile.lines < kTileLines && row < end_row && arguments.row_sequence[row] == sequence) {
                const std::size_t at = (row * arguments.heads + kv_head * group + head) * head_dim;
                tile.query[tile.lines] = arguments.q + at;
                tile.visible[tile.lines] = arguments.row_visible[row];
                if (tile.visible[tile.lines] > longest) longest = tile.visible[tile.lines];
                result[tile.lines++] = arguments.y + at;
                if (++head == group) head = 0, ++row;
            }
            begin(tile, log2_scale);
            const std::byte* const* pages = arguments.blocks[sequence];
            for (std::size_t first = 0; first < longest; first += tensor::kBlockPositions) {
                const std::byte* page = pages[first / tensor::kBlockPositions];
                const bool is_last = longest - first <= tensor::kBlockPositions;
                const std::byte* next = is_last ? page : pages[first / tensor::kBlockPositions + 1];
                add_block(tile, block_at(page, keys, values), block_at(next, keys, values), first);
            }
            for (std::size_t line = 0; line < tile.lines; ++line) finish(tile, line, result[line]);
        }
    }
}

}  // namespace inkstone::ops::attention::INKSTONE_ISA
