// Kernels of linear, compiled once per instruction set; the backend picks one at run time.
// One row streams each tile once, all 64 outputs in registers: as fast as memory gives weights. More rows go through a
// register tile of kRowBlock rows, so that a weight in a register serves all of them. From kWideningRows rows on, a
// block of weights is first widened to float in a scratch that stays in the first-level cache while all rows pass.
// Blocking over the inputs stores partial sums in y and takes them up again, which changes no bit: an output still has
// one accumulator that sees the inputs in order.
#include "base/simd/lanes.h"
#include "ops/linear/linear.h"

namespace inkstone::ops::linear::INKSTONE_ISA {

using inkstone::INKSTONE_ISA::Lanes;
using inkstone::INKSTONE_ISA::widen_half;
using inkstone::INKSTONE_ISA::widen_high;
using inkstone::INKSTONE_ISA::widen_low;

namespace {

constexpr std::size_t kTileLanes = tensor::kTileOutputs / Lanes::kCount;

// Rows and groups of 16 outputs of the register tile: with AVX2 6 x 2 accumulators, 2 weights and an input make 15 of
// 16 registers; with AVX-512 12 x 2 accumulators of 32 registers read few weights per product.
#if defined(INKSTONE_ISA_avx512)
constexpr std::size_t kRowBlock = 12, kLaneBlock = 2;
#elif defined(INKSTONE_ISA_avx2)
constexpr std::size_t kRowBlock = 6, kLaneBlock = 1;
#else
constexpr std::size_t kRowBlock = 4, kLaneBlock = 1;
#endif
constexpr std::size_t kFewRowsInputs = 128, kManyRowsInputs = 256;
constexpr std::size_t kWideningRows = 3 * kRowBlock;
constexpr std::size_t kPrefetchDistance = 2048;      // bytes ahead of a single row's stream
constexpr std::size_t kCachedRows = 20 * kRowBlock;  // whose inputs stay in the second-level cache

// How the weights of one step of the inputs lie, in each format: a step is kInputs inputs and kStepBytes bytes; load
// gives those of input `input` of the step for 16 outputs (lanes 16 g .. 16 g + 15 of the tile).
struct FloatWeights {
    static constexpr std::size_t kInputs = 1, kGroups = kTileLanes, kStepBytes = tensor::kTileOutputs * 4;
    INKSTONE_INLINE static Lanes load(const std::byte* step, std::size_t group, std::size_t) {
        return Lanes::load(reinterpret_cast<const float*>(step) + group * Lanes::kCount);
    }
};
struct BfloatWeights {
    static constexpr std::size_t kInputs = 2, kGroups = kTileLanes, kStepBytes = tensor::kTileOutputs * 4;
    INKSTONE_INLINE static Lanes load(const std::byte* step, std::size_t group, std::size_t input) {
        const std::byte* words = step + group * 64;
        return input == 0 ? widen_low(words) : widen_high(words);
    }
};
struct HalfWeights {
    static constexpr std::size_t kInputs = 1, kGroups = kTileLanes, kStepBytes = tensor::kTileOutputs * 2;
    INKSTONE_INLINE static Lanes load(const std::byte* step, std::size_t group, std::size_t) {
        return widen_half(step + group * 32);
    }
};
// The scratch: kLaneBlock groups of one input side by side.
struct WidenedWeights {
    static constexpr std::size_t kInputs = 1, kGroups = kLaneBlock, kStepBytes = kLaneBlock * Lanes::kCount * 4;
    INKSTONE_INLINE static Lanes load(const std::byte* step, std::size_t group, std::size_t) {
        return Lanes::load(reinterpret_cast<const float*>(step) + group % kLaneBlock * Lanes::kCount);
    }
};

// What one pass over rows computes: some inputs of the outputs of one tile.
struct Pass {
    const Arguments& arguments;
    std::size_t first_output;  // of the tile
    std::size_t first_input, end_input;

    std::size_t inputs() const { return end_input - first_input; }
    bool begins() const { return first_input == 0; }
    bool ends() const { return end_input == arguments.weight.inputs; }
};

// Sixteen floats, or the first count of them, whichever is there.
INKSTONE_INLINE Lanes load_outputs(const float* p, std::size_t count) {
    return count == Lanes::kCount ? Lanes::load(p) : Lanes::load_first(p, count);
}
INKSTONE_INLINE void store_outputs(float* p, std::size_t count, Lanes lanes) {
    if (count == Lanes::kCount)
        lanes.store(p);
    else
        lanes.store_first(p, count);
}

// Memory that a later pass will read, brought closer by this one: `bytes_per_step` for each step of its inputs.
struct Prefetch {
    const std::byte* begin;
    std::size_t bytes_per_step;
};

// kRows rows from first_row on times kGroups groups of 16 outputs from first_group on, sums in registers. `weights`
// are those of the pass's first input.
template <class Weights, std::size_t kRows, std::size_t kGroups>
[[gnu::noinline]] void multiply_block(const Pass& pass, const std::byte* weights, std::size_t first_row,
                                      std::size_t first_group, Prefetch prefetch) {
    constexpr std::size_t kPrefetchLines = (Weights::kStepBytes * kGroups / Weights::kGroups + 63) / 64;
    const Arguments& arguments = pass.arguments;
    const std::size_t x_stride = arguments.x_stride, y_stride = arguments.y_stride, inputs = pass.inputs();
    const float* x = arguments.x + first_row * x_stride + pass.first_input;
    std::size_t outputs[kGroups];
    for (std::size_t g = 0; g < kGroups; ++g) {
        const std::size_t first = pass.first_output + (first_group + g) * Lanes::kCount;
        const std::size_t left = first < arguments.weight.outputs ? arguments.weight.outputs - first : 0;
        outputs[g] = left < Lanes::kCount ? left : Lanes::kCount;
    }
    const std::size_t column = pass.first_output + first_group * Lanes::kCount;
    float* y = arguments.y + first_row * y_stride + column;

    Lanes sums[kRows][kGroups];
#pragma GCC unroll 16
    for (std::size_t r = 0; r < kRows; ++r)
#pragma GCC unroll 4
        for (std::size_t g = 0; g < kGroups; ++g) sums[r][g] = Lanes::zero();
    if (!pass.begins())
#pragma GCC unroll 16
        for (std::size_t r = 0; r < kRows; ++r)
#pragma GCC unroll 4
            for (std::size_t g = 0; g < kGroups; ++g)
                sums[r][g] = load_outputs(y + r * y_stride + g * Lanes::kCount, outputs[g]);

    // `count` inputs of one step, from input k of the pass on.
    const auto multiply_step = [&](std::size_t k, std::size_t count) __attribute__((always_inline)) {
#pragma GCC unroll 2
        for (std::size_t i = 0; i < count; ++i) {
            Lanes weight[kGroups];
#pragma GCC unroll 4
            for (std::size_t g = 0; g < kGroups; ++g) {
                weight[g] = Weights::load(weights, first_group + g, i);
                // A single row uses each weight at once: there are no registers for all of them.
                if (kRows == 1) sums[0][g] = fma(weight[g], Lanes::of(x[k + i]), sums[0][g]);
            }
            if (kRows == 1) continue;
#pragma GCC unroll 16
            for (std::size_t r = 0; r < kRows; ++r) {
                const Lanes input = Lanes::of(x[r * x_stride + k + i]);
#pragma GCC unroll 4
                for (std::size_t g = 0; g < kGroups; ++g) sums[r][g] = fma(weight[g], input, sums[r][g]);
            }
        }
    };
    std::size_t k = 0;
    for (; k + Weights::kInputs <= inputs; k += Weights::kInputs) {
#pragma GCC unroll 4
        for (std::size_t line = 0; line < kPrefetchLines; ++line) __builtin_prefetch(prefetch.begin + line * 64, 0, 2);
        prefetch.begin += prefetch.bytes_per_step;
        multiply_step(k, Weights::kInputs);
        weights += Weights::kStepBytes;
    }
    if (k < inputs) multiply_step(k, 1);  // an odd last input, alone in its pair

    if (pass.ends() && arguments.bias)
#pragma GCC unroll 4
        for (std::size_t g = 0; g < kGroups; ++g) {
            const Lanes bias = load_outputs(arguments.bias + column + g * Lanes::kCount, outputs[g]);
#pragma GCC unroll 16
            for (std::size_t r = 0; r < kRows; ++r) sums[r][g] = sums[r][g] + bias;
        }
#pragma GCC unroll 16
    for (std::size_t r = 0; r < kRows; ++r)
#pragma GCC unroll 4
        for (std::size_t g = 0; g < kGroups; ++g)
            store_outputs(y + r * y_stride + g * Lanes::kCount, outputs[g], sums[r][g]);
}

// `rows` rows, 1 .. kMaximumRows: the instance of multiply_block for that number.
template <class Weights, std::size_t kGroups, std::size_t kMaximumRows>
INKSTONE_INLINE void multiply_rows(const Pass& pass, const std::byte* weights, std::size_t first_row, std::size_t rows,
                                   std::size_t first_group, Prefetch prefetch) {
    if (rows == kMaximumRows)
        multiply_block<Weights, kMaximumRows, kGroups>(pass, weights, first_row, first_group, prefetch);
    else if constexpr (kMaximumRows > 1)
        multiply_rows<Weights, kGroups, kMaximumRows - 1>(pass, weights, first_row, rows, first_group, prefetch);
}

// All rows [first_row, end_row) in register blocks of nearly equal height. The first block prefetches for all.
template <class Weights>
INKSTONE_INLINE void multiply_all_rows(const Pass& pass, const std::byte* weights, std::size_t first_row,
                                       std::size_t end_row, std::size_t first_group, Prefetch prefetch) {
    while (first_row < end_row) {
        const std::size_t left = end_row - first_row, blocks = (left + kRowBlock - 1) / kRowBlock;
        const std::size_t rows = (left + blocks - 1) / blocks;
        multiply_rows<Weights, kLaneBlock, kRowBlock>(pass, weights, first_row, rows, first_group, prefetch);
        first_row += rows;
        prefetch = {weights, 0};
    }
}

// Tile t for the rows [first_row, end_row).
template <class Weights>
INKSTONE_INLINE void multiply_tile(const Arguments& arguments, std::size_t t, std::size_t first_row,
                                   std::size_t end_row) {
    const std::size_t inputs = arguments.weight.inputs, rows = end_row - first_row;
    const std::byte* tile = arguments.weight.tile(t);
    if (rows == 1) {
        multiply_block<Weights, 1, kTileLanes>({arguments, t * tensor::kTileOutputs, 0, inputs}, tile, first_row, 0,
                                               {tile + kPrefetchDistance, Weights::kStepBytes});
        return;
    }
    const bool widens = rows >= kWideningRows;
    const std::size_t block_inputs = widens ? kManyRowsInputs : kFewRowsInputs;
    alignas(64) float scratch[kManyRowsInputs * kLaneBlock * Lanes::kCount];
    std::size_t begin = 0;
    do {  // at least once: a matrix without inputs gives the bias
        const std::size_t end = inputs - begin < block_inputs ? inputs : begin + block_inputs;
        const Pass pass{arguments, t * tensor::kTileOutputs, begin, end};
        const std::size_t steps = (pass.inputs() + Weights::kInputs - 1) / Weights::kInputs;
        const std::byte* weights = tile + begin / Weights::kInputs * Weights::kStepBytes;
        for (std::size_t group = 0; group < kTileLanes; group += kLaneBlock) {
            // The passes over the groups of this block share the prefetching of the next, in this tile or the
            // following.
            constexpr std::size_t kShare = Weights::kStepBytes / kTileLanes;
            const Prefetch next{weights + steps * (Weights::kStepBytes + group * kShare), kShare * kLaneBlock};
            if (!widens) {
                multiply_all_rows<Weights>(pass, weights, first_row, end_row, group, next);
                continue;
            }
            float* widened = scratch;
            for (std::size_t k = 0; k < pass.inputs(); ++k)
#pragma GCC unroll 4
                for (std::size_t g = 0; g < kLaneBlock; ++g, widened += Lanes::kCount)
                    Weights::load(weights + k / Weights::kInputs * Weights::kStepBytes, group + g, k % Weights::kInputs)
                        .store(widened);
            multiply_all_rows<WidenedWeights>(pass, reinterpret_cast<const std::byte*>(scratch), first_row, end_row,
                                              group, {next.begin, next.bytes_per_step / Weights::kInputs});
        }
        begin = end;
    } while (begin < inputs);
}

template <class Weights>
INKSTONE_INLINE void multiply_tiles(const Arguments& arguments, std::size_t first_row, std::size_t end_row,
                                    std::size_t first_tile, std::size_t end_tile) {
    for (std::size_t t = first_tile; t < end_tile; ++t)
        for (std::size_t row = first_row; row < end_row;) {
            // Chunks of nearly equal size, of whole register blocks.
            const std::size_t left = end_row - row, chunks = (left + kCachedRows - 1) / kCachedRows;
            const std::size_t blocks = (left + chunks * kRowBlock - 1) / (chunks * kRowBlock);
            const std::size_t rows = blocks * kRowBlock < left ? blocks * kRowBlock : left;
            multiply_tile<Weights>(arguments, t, row, row + rows);
            row += rows;
        }
}

}  // namespace

void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row, std::size_t first_tile,
         std::size_t end_tile) {
    switch (arguments.weight.format) {
        case tensor::WeightFormat::f32:
            multiply_tiles<FloatWeights>(arguments, first_row, end_row, first_tile, end_tile);
            break;
        case tensor::WeightFormat::bf16:
            multiply_tiles<BfloatWeights>(arguments, first_row, end_row, first_tile, end_tile);
            break;
        case tensor::WeightFormat::f16:
            multiply_tiles<HalfWeights>(arguments, first_row, end_row, first_tile, end_tile);
            break;
    }
}

}  // namespace inkstone::ops::linear::INKSTONE_ISA
