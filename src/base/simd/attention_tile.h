// The walk of attention kernels through cached blocks, shared by the operators that differ in arithmetic only
// (ops/attention, ops/attention_bf16). Only for cpu.cpp files, like lanes.h.
//
// A line is one query head of one row. Lines that share a key/value head are taken in tiles; a tile goes through its
// sequence block by block, each block in three phases, so that the keys stay in the first-level cache for all lines,
// and then the values:
//   scores      positions in lanes, a few lines at once in registers
//   weights     softmax within the block, one line after the other, positions in lanes
//   outputs     head_dim in lanes, a few lines at once in registers
// A line's numbers never meet another line's, so the grouping does not change them.
//
// A class `Arithmetic` says how the products are taken:
//   Element                       what a line brings to one step of a product: a number, or a pair of them
//   kStep                         dimensions (of scores) or positions (of outputs) that one step takes: 1 or 2
//   kPositions, kHeadDim          positions of a block; the largest head_dim
//   kSlack                        by how much scores may pass the maximum before it follows
//   kHalves                       whether Half exists: eight lanes, for a head_dim that ends in the middle of sixteen
//   multiply(words, x, stride, sum)           sum[l][c] += words of column c times x[l * stride], one step
//   multiply_edge(words, x, stride, i, count, sum)   the same for step i of the positions, of which line l sees the
//                                 first count[l] only: what it does not see must not touch its sums
//   exponential(x)                2^x for x up to kSlack
//   correction(x)                 2^x for x <= 0, by which sums follow the maximum
//   store_weights(weight, at, sum_at)         the line's weights as elements; adds them to its 16 sums
//   load_query(q, head_dim, scale, elements)  a query, scaled, with zeros up to whole lanes
//   quotient(output, total)       output / total
// In a block, K of one head is words of 32 bits [head_dim / kStep][kPositions], V is [kPositions / kStep][padded].
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/simd/lanes.h"

namespace inkstone::INKSTONE_ISA {

// Blocks are fetched into the second-level cache while the one before them is worked on: pages lie anywhere in memory,
// so the processor cannot foresee them. Many groups share the fetching evenly, a line of the cache with each step: all
// at once it would hold up the loads. Few groups are as fast as memory: the first fetches all that it can.
enum class Fetch { none, one, all };

template <class Arithmetic>
class AttentionTile {
    using Element = typename Arithmetic::Element;

    static constexpr std::size_t kStep = Arithmetic::kStep, kPositions = Arithmetic::kPositions;
    static constexpr std::size_t kBlockLanes = kPositions / Lanes::kCount, kBlockSteps = kPositions / kStep;
    static_assert(kBlockLanes == 4);
    static constexpr std::size_t kWordBytes = 4, kLaneBytes = Lanes::kCount * kWordBytes, kCacheLine = 64;

    // Lines at once, and columns of 16 lanes that so many lines take at once: what fits into the registers, sums and
    // operands, with sums enough to hide the latency of a product. The portable form's cost is its emulated fma: more
    // lines at once would only make it longer.
#if defined(INKSTONE_ISA_avx512) || defined(INKSTONE_ISA_avx512_bf16)
    static constexpr std::size_t kGroupLines = 6;
    static constexpr std::size_t columns_at_once(std::size_t) { return 4; }
#elif defined(INKSTONE_ISA_avx2)
    static constexpr std::size_t kGroupLines = 6;
    static constexpr std::size_t columns_at_once(std::size_t lines) { return lines == 1 ? 4 : lines == 2 ? 2 : 1; }
#else
    static constexpr std::size_t kGroupLines = 1;
    static constexpr std::size_t columns_at_once(std::size_t) { return 1; }
#endif
    static constexpr std::size_t kManyGroups = 4;

    // Lines of a tile: as many as its memory holds, whole groups of them.
    static constexpr std::size_t kTileLines = 48, kTileGroups = kTileLines / kGroupLines, kTileFloats = 48 * 120;
    static_assert(kTileLines % kGroupLines == 0 && kTileFloats >= Arithmetic::kHeadDim * kGroupLines);
    // Elements from the weights of a line to those of the next: weights begin where the line's scores did.
    static constexpr std::size_t kWeightStride = kPositions * sizeof(float) / sizeof(Element);

public:
    // Rows [first_row, end_row) of the query heads of key/value heads [first_kv_head, end_kv_head) of an attention's
    // Arguments.
    template <class Arguments>
    [[gnu::noinline]] static void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row,
                                      std::size_t first_kv_head, std::size_t end_kv_head) {
        const std::size_t head_dim = arguments.layout.head_dim, kv_heads = arguments.layout.kv_heads;
        const std::size_t padded = (head_dim + Lanes::kCount - 1) / Lanes::kCount * Lanes::kCount;
        const std::size_t heads_per_kv_head = arguments.heads / kv_heads;
        const std::size_t key_bytes = head_dim / kStep * kPositions * kWordBytes;
        const std::size_t value_bytes = kBlockSteps * padded * kWordBytes;
        constexpr double kLog2E = 1.4426950408889634;
        const auto log2_scale = static_cast<float>(static_cast<double>(arguments.scale) * kLog2E);
        const std::size_t most_lines = smaller(kTileLines, kTileFloats / padded / kGroupLines * kGroupLines);
        AttentionTile tile;
        tile.head_dim_ = head_dim;
        tile.padded_ = padded;
        for (std::size_t kv_head = first_kv_head; kv_head < end_kv_head; ++kv_head) {
            const std::size_t keys = arguments.block_offset + kv_head * key_bytes;
            const std::size_t values = arguments.block_offset + kv_heads * key_bytes + kv_head * value_bytes;
            std::size_t row = first_row, head = 0;  // the next line
            while (row < end_row) {
                const std::uint32_t sequence = arguments.row_sequence[row];
                std::size_t at[kTileLines];  // of the line's query and result
                std::size_t longest = 0, lines = 0;
                while (lines < most_lines && row < end_row && arguments.row_sequence[row] == sequence) {
                    at[lines] = (row * arguments.heads + kv_head * heads_per_kv_head + head) * head_dim;
                    tile.visible_[lines] = arguments.row_visible[row];
                    if (tile.visible_[lines] > longest) longest = tile.visible_[lines];
                    ++lines;
                    if (++head == heads_per_kv_head) head = 0, ++row;
                }
                tile.lines_ = lines;
                // Queries lie far apart: all are fetched before the first is waited for.
                for (std::size_t line = 0; line < lines; ++line) {
                    for (std::size_t d = 0; d < head_dim; d += kCacheLine / sizeof(float))
                        __builtin_prefetch(arguments.q + at[line] + d);
                }
                for (std::size_t line = 0; line < lines; ++line) {
                    Arithmetic::load_query(arguments.q + at[line], head_dim, log2_scale,
                                           tile.query_ + line * (padded / kStep));
                }
                tile.clear();
                const std::byte* const* pages = arguments.blocks[sequence];
                for (std::size_t first = 0; first < longest; first += kPositions) {
                    const std::byte* page = pages[first / kPositions];
                    const bool is_last = longest - first <= kPositions;
                    const std::byte* next = is_last ? page : pages[first / kPositions + 1];
                    tile.add_block({page + keys, page + values}, {next + keys, next + values}, first);
                }
                for (std::size_t line = 0; line < lines; ++line) tile.finish(line, arguments.y + at[line]);
            }
        }
    }

private:
    // The words of one key/value head in a block.
    struct Block {
        const std::byte *keys, *values;
    };
    // What is left to fetch.
    struct Range {
        const std::byte *next, *end;
    };
    // What a group of lines scores in one block, from some column on.
    struct Scoring {
        const std::byte* keys;  // words [steps][kPositions]
        Range fetch;
        const Element* query;  // [lines][stride]
        std::size_t stride, steps;
        float* scores;  // [lines][kPositions]
    };
    // What a group of lines adds to its outputs from one block, from some column on.
    struct Addition {
        const std::byte* values;  // words [kBlockSteps][padded]
        Range fetch;
        const Element* weights;      // [lines][kWeightStride]
        const std::uint32_t* count;  // [lines]: positions that each line sees
        std::size_t common_steps;    // steps of which every line sees all positions
        std::size_t steps;           // steps of which any line sees a position
        std::size_t padded;
        float* output;  // [lines][padded]
    };

    INKSTONE_INLINE static std::size_t smaller(std::size_t a, std::size_t b) { return a < b ? a : b; }

    template <Fetch kFetch, std::size_t kColumns>
    INKSTONE_INLINE static void fetch_step(Range& range) {
        if constexpr (kFetch == Fetch::none) return;
        if (range.next >= range.end) return;
        constexpr std::size_t kLines = kFetch == Fetch::all ? kColumns : 1;
#pragma GCC unroll 4
        for (std::size_t i = 0; i < kLines; ++i) __builtin_prefetch(range.next + i * kCacheLine, 0, 2);
        range.next += kLines * kCacheLine;
    }

    // scores[l][first column ...] of a group.
    template <std::size_t kLines, std::size_t kColumns, Fetch kFetch>
    INKSTONE_INLINE static void score_columns(Scoring& s) {
        Lanes sum[kLines][kColumns];
#pragma GCC unroll 8
        for (std::size_t l = 0; l < kLines; ++l) {
#pragma GCC unroll 4
            for (std::size_t c = 0; c < kColumns; ++c) sum[l][c] = Lanes::zero();
        }
        const std::byte* keys = s.keys;
        const std::size_t stride = s.stride;
        Range fetch = s.fetch;
        const Element *query = s.query, *end = s.query + s.steps;
#pragma GCC unroll 2
        for (; query != end; ++query) {
            fetch_step<kFetch, kColumns>(fetch);
            Arithmetic::template multiply<Lanes, kLines, kColumns>(keys, query, stride, sum);
            keys += kPositions * kWordBytes;
        }
        s.fetch = fetch;
#pragma GCC unroll 8
        for (std::size_t l = 0; l < kLines; ++l) {
#pragma GCC unroll 4
            for (std::size_t c = 0; c < kColumns; ++c) sum[l][c].store(s.scores + l * kPositions + c * Lanes::kCount);
        }
    }

    // `columns` columns, kColumns at a time, then the rest in fewer.
    template <std::size_t kLines, std::size_t kColumns, Fetch kFetch>
    INKSTONE_INLINE static void score_all_columns(std::size_t columns, Scoring& s) {
        for (; columns >= kColumns; columns -= kColumns) {
            score_columns<kLines, kColumns, kFetch>(s);
            s.keys += kColumns * kLaneBytes;
            s.scores += kColumns * Lanes::kCount;
        }
        if constexpr (kColumns > 1) {
            if (columns > 0) score_all_columns<kLines, kColumns - 1, kFetch>(columns, s);
        }
    }
    template <std::size_t kLines, Fetch kFetch>
    [[gnu::noinline]] static void score_group(std::size_t columns, Scoring& s) {
        score_all_columns<kLines, columns_at_once(kLines), kFetch>(columns, s);
    }

    // output[l][first column ...] += weights of line l times values, step after step.
    template <class Vector, std::size_t kLines, std::size_t kColumns, Fetch kFetch>
    INKSTONE_INLINE static void add_columns(Addition& a) {
        Vector sum[kLines][kColumns];
#pragma GCC unroll 8
        for (std::size_t l = 0; l < kLines; ++l) {
#pragma GCC unroll 4
            for (std::size_t c = 0; c < kColumns; ++c)
                sum[l][c] = Vector::load(a.output + l * a.padded + c * Vector::kCount);
        }
        const std::size_t stride = a.padded * kWordBytes;
        const std::byte* values = a.values;
        Range fetch = a.fetch;
        const Element *weights = a.weights, *end = a.weights + a.common_steps;
#pragma GCC unroll 2
        for (; weights != end; ++weights) {
            fetch_step<kFetch, kColumns>(fetch);
            Arithmetic::template multiply<Vector, kLines, kColumns>(values, weights, kWeightStride, sum);
            values += stride;
        }
        a.fetch = fetch;
        // What only some lines see is added under masks: a position that a line does not see must not even be
        // multiplied by zero.
        for (std::size_t i = a.common_steps; i < a.steps; ++i) {
            Arithmetic::template multiply_edge<Vector, kLines, kColumns>(a.values + i * stride, a.weights + i,
                                                                         kWeightStride, i, a.count, sum);
        }
#pragma GCC unroll 8
        for (std::size_t l = 0; l < kLines; ++l) {
#pragma GCC unroll 4
            for (std::size_t c = 0; c < kColumns; ++c) sum[l][c].store(a.output + l * a.padded + c * Vector::kCount);
        }
    }

    // `columns` columns, kColumns at a time, then the rest in fewer; 5 as 3 and 2: a lone column has too few sums.
    template <std::size_t kLines, std::size_t kColumns, Fetch kFetch>
    INKSTONE_INLINE static void add_all_columns(std::size_t columns, Addition& a) {
        while (columns >= kColumns && !(kColumns == 4 && columns == 5)) {
            add_columns<Lanes, kLines, kColumns, kFetch>(a);
            columns -= kColumns;
            a.values += kColumns * kLaneBytes;
            a.output += kColumns * Lanes::kCount;
        }
        if constexpr (kColumns > 1) {
            if (columns > 0) add_all_columns<kLines, kColumns - 1, kFetch>(columns, a);
        }
    }
    template <std::size_t kLines, Fetch kFetch>
    [[gnu::noinline]] static void add_group(std::size_t head_dim, Addition& a) {
        if constexpr (Arithmetic::kHalves) {
            using Half = typename Arithmetic::Half;
            const std::size_t rest = head_dim % Lanes::kCount;
            if (rest > 0 && rest <= Half::kCount) {
                add_all_columns<kLines, columns_at_once(kLines), kFetch>(head_dim / Lanes::kCount, a);
                add_columns<Half, kLines, 1, kFetch>(a);
                return;
            }
        }
        add_all_columns<kLines, columns_at_once(kLines), kFetch>(a.padded / Lanes::kCount, a);
    }

    // score_group and add_group for a number of lines known at run time.
    template <std::size_t kLines = kGroupLines>
    INKSTONE_INLINE static void score_lines(std::size_t lines, Fetch fetch, std::size_t columns, Scoring& s) {
        if constexpr (kLines > 1) {
            if (lines < kLines) return score_lines<kLines - 1>(lines, fetch, columns, s);
        }
        switch (fetch) {
            case Fetch::none:
                return score_group<kLines, Fetch::none>(columns, s);
            case Fetch::one:
                return score_group<kLines, Fetch::one>(columns, s);
            case Fetch::all:
                return score_group<kLines, Fetch::all>(columns, s);
        }
    }
    template <std::size_t kLines = kGroupLines>
    INKSTONE_INLINE static void add_lines(std::size_t lines, Fetch fetch, std::size_t head_dim, Addition& a) {
        if constexpr (kLines > 1) {
            if (lines < kLines) return add_lines<kLines - 1>(lines, fetch, head_dim, a);
        }
        switch (fetch) {
            case Fetch::none:
                return add_group<kLines, Fetch::none>(head_dim, a);
            case Fetch::one:
                return add_group<kLines, Fetch::one>(head_dim, a);
            case Fetch::all:
                return add_group<kLines, Fetch::all>(head_dim, a);
        }
    }

    // Nothing seen yet.
    INKSTONE_INLINE void clear() {
        for (std::size_t line = 0; line < lines_; ++line) maximum_[line] = -__builtin_inff();
        for (std::size_t i = 0; i < lines_; ++i) Lanes::zero().store(sum_ + i * Lanes::kCount);
        for (std::size_t i = 0; i < lines_ * padded_; i += Lanes::kCount) Lanes::zero().store(output_ + i);
    }

    // Turns the scores of `count` visible positions of a block into weights; the line's maximum, sum and output follow.
    template <bool kWhole>
    INKSTONE_INLINE void weigh(std::size_t line, std::size_t count) {
        float* scores = score_ + line * kPositions;
        float* sum_at = sum_ + line * Lanes::kCount;
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
        Lanes shift = Lanes::of(maximum_[line]);
        if (any(less(shift + Lanes::of(Arithmetic::kSlack), largest))) {
            const float maximum = fold_max(largest);
            const Lanes correction = Arithmetic::correction(shift - Lanes::of(maximum));
            float* output = output_ + line * padded_;
            for (std::size_t d = 0; d < padded_; d += Lanes::kCount) {
                (Lanes::load(output + d) * correction).store(output + d);
            }
            (Lanes::load(sum_at) * correction).store(sum_at);
            maximum_[line] = maximum;
            shift = Lanes::of(maximum);
        }
        Lanes weight[kBlockLanes];
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kBlockLanes; ++c) {
            weight[c] = Arithmetic::exponential(score[c] - shift);
            if constexpr (!kWhole) weight[c] = select(seen[c], weight[c], Lanes::zero());
        }
        Arithmetic::store_weights(weight, scores, sum_at);
    }

    [[gnu::noinline]] void weigh_lines() {
        for (std::size_t line = 0; line < lines_; ++line) {
            if (count_[line] == kPositions) {
                weigh<true>(line, kPositions);
            } else if (count_[line] > 0) {
                weigh<false>(line, count_[line]);
            }
        }
    }

    // Adds one block, whose first position is `first_position`, while `next` is fetched.
    INKSTONE_INLINE void add_block(Block block, Block next, std::size_t first_position) {
        // Of each group of lines: the positions that all see, and those that any sees.
        std::uint32_t common[kTileGroups], longest[kTileGroups];
        for (std::size_t first = 0, group = 0; first < lines_; first += kGroupLines, ++group) {
            common[group] = kPositions;
            longest[group] = 0;
            for (std::size_t line = first; line < smaller(first + kGroupLines, lines_); ++line) {
                const std::size_t visible = visible_[line];
                const std::size_t left = visible > first_position ? visible - first_position : 0;
                const auto count = static_cast<std::uint32_t>(smaller(left, kPositions));
                if (count < common[group]) common[group] = count;
                if (count > longest[group]) longest[group] = count;
                count_[line] = count;
            }
        }
        const std::size_t groups = (lines_ + kGroupLines - 1) / kGroupLines, steps = head_dim_ / kStep;
        // The part of `bytes` bytes that a group fetches.
        const bool is_shared = groups >= kManyGroups;
        const auto share = [=](std::size_t bytes) __attribute__((always_inline)) {
            return is_shared ? (bytes / kCacheLine + groups - 1) / groups * kCacheLine : bytes;
        };
        const std::size_t key_share = share(steps * kPositions * kWordBytes);
        const std::size_t value_share = share(kBlockSteps * padded_ * kWordBytes);
        const std::byte *next_keys = next.keys, *next_values = next.values;
        const Element* query = query_;
        for (std::size_t first = 0, group = 0; first < lines_; first += kGroupLines, ++group) {
            const Fetch fetch = is_shared ? Fetch::one : group == 0 ? Fetch::all : Fetch::none;
            Scoring scoring{
                block.keys, {next_keys, next_keys + key_share}, query + first * (padded_ / kStep), padded_ / kStep,
                steps,      score_ + first * kPositions};
            next_keys += key_share;
            score_lines(smaller(lines_ - first, kGroupLines), fetch,
                        (longest[group] + Lanes::kCount - 1) / Lanes::kCount, scoring);
        }
        weigh_lines();
        for (std::size_t first = 0, group = 0; first < lines_; first += kGroupLines, ++group) {
            const Fetch fetch = is_shared ? Fetch::one : group == 0 ? Fetch::all : Fetch::none;
            Addition addition{block.values,
                              {next_values, next_values + value_share},
                              reinterpret_cast<const Element*>(score_ + first * kPositions),
                              count_ + first,
                              common[group] / kStep,
                              (longest[group] + kStep - 1) / kStep,
                              padded_,
                              output_ + first * padded_};
            next_values += value_share;
            add_lines(smaller(lines_ - first, kGroupLines), fetch, head_dim_, addition);
        }
    }

    INKSTONE_INLINE void finish(std::size_t line, float* y) const {
        const Lanes total = Lanes::of(fold(Lanes::load(sum_ + line * Lanes::kCount)));
        const float* output = output_ + line * padded_;
        for (std::size_t d = 0; d < head_dim_; d += Lanes::kCount) {
            const Lanes quotient = Arithmetic::quotient(Lanes::load(output + d), total);
            const Lanes result = visible_[line] == 0 ? Lanes::zero() : quotient;
            result.store_first(y + d, smaller(head_dim_ - d, Lanes::kCount));
        }
    }

    std::size_t lines_;                                  // in groups of kGroupLines; the last may be smaller
    std::size_t head_dim_, padded_;                      // of a query; of a line of output_
    std::uint32_t visible_[kTileLines];                  // positions
    std::uint32_t count_[kTileLines];                    // positions of this block that the line sees
    float maximum_[kTileLines];                          // what is taken from the scores
    alignas(64) Element query_[kTileFloats / kStep];     // [lines][padded / kStep]
    alignas(64) float score_[kTileLines * kPositions];   // [lines][kPositions]; weights take their place
    alignas(64) float sum_[kTileLines * Lanes::kCount];  // [lines][16]
    alignas(64) float output_[kTileFloats];              // [lines][padded]
};

}  // namespace inkstone::INKSTONE_ISA
