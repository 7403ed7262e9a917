// Kernels of linear, compiled once per instruction set; the backend picks one at run time.
// One row, or few, stream each tile once, all 64 outputs in registers: as fast as memory gives weights. More rows go
// through a register tile, so that a weight in a register serves all of its rows; the inputs are taken in blocks whose
// weights stay in a cache while all rows pass. Where registers are few, or widening is dear, a block of weights is
// first widened to float in a scratch. Blocking over the inputs stores partial sums in y and takes them up again, which
// changes no bit: an output still has one accumulator that sees the inputs in order.
#include "base/simd/lanes.h"
#include "ops/linear/linear.h"

namespace inkstone::ops::linear::INKSTONE_ISA {

using inkstone::INKSTONE_ISA::Lanes;
using inkstone::INKSTONE_ISA::widen_half;
using inkstone::INKSTONE_ISA::widen_high;
using inkstone::INKSTONE_ISA::widen_low;

namespace {

constexpr std::size_t kTileLanes = tensor::kTileOutputs / Lanes::kCount;

// How rows and inputs are cut: register tiles of kRows rows and kGroups groups of 16 outputs, blocks of kInputs inputs
// (even), widened or not.
template <std::size_t kTileRows, std::size_t kTileGroups, std::size_t kBlockInputs, bool kWidensWeights>
struct Cut {
    static constexpr std::size_t kRows = kTileRows, kGroups = kTileGroups, kInputs = kBlockInputs;
    static constexpr bool kWidens = kWidensWeights;
};
// By the number of rows: up to kStreamedRows a tile passes once, all of its outputs at a time; Few up to kFewRows, then
// Many, or ManyHalves for weights that are dear to widen.
#if defined(INKSTONE_ISA_avx512)
// 24 accumulators, 2 or 4 weights and an input of 32 registers. 4 groups read whole lines and few inputs, and their
// weights may come from the second-level cache.
constexpr std::size_t kStreamedRows = 2, kFewRows = 12;
using Few = Cut<12, 2, 128, false>;
using Many = Cut<6, 4, 1152, false>;
using ManyHalves = Cut<12, 2, 128, true>;
#elif defined(INKSTONE_ISA_avx2)
// 12 accumulators, 2 weights and an input of 16 registers.
constexpr std::size_t kStreamedRows = 1, kFewRows = 17;
using Few = Cut<6, 1, 128, false>;
using Many = Cut<6, 1, 256, true>;
using ManyHalves = Many;
#else
constexpr std::size_t kStreamedRows = 1, kFewRows = 11;
using Few = Cut<4, 1, 128, false>;
using Many = Cut<4, 1, 256, true>;
using ManyHalves = Many;
#endif
constexpr std::size_t kPrefetchDistance = 2048;   // bytes ahead of a stream
constexpr std::size_t kCachedBytes = 512 * 1024;  // of inputs that stay in the second-level cache

// How the weights of one step of the inputs lie, in each format: a step is kInputs inputs and kStepBytes bytes; load
// gives those of input `input` of the step for 16 outputs (lanes 16 g .. 16 g + 15 of the tile).
struct FloatWeights {
    using ManyRows = Many;
    static constexpr std::size_t kInputs = 1, kStepBytes = tensor::kTileOutputs * 4;
    INKSTONE_INLINE static Lanes load(const std::byte* step, std::size_t group, std::size_t) {
        return Lanes::load(reinterpret_cast<const float*>(step) + group * Lanes::kCount);
    }
};
struct BfloatWeights {
    using ManyRows = Many;
    static constexpr std::size_t kInputs = 2, kStepBytes = tensor::kTileOutputs * 4;
    INKSTONE_INLINE static Lanes load(const std::byte* step, std::size_t group, std::size_t input) {
        const std::byte* words = step + group * 64;
        return input == 0 ? widen_low(words) : widen_high(words);
    }
};
struct HalfWeights {
    using ManyRows = ManyHalves;
    static constexpr std::size_t kInputs = 1, kStepBytes = tensor::kTileOutputs * 2;
    INKSTONE_INLINE static Lanes load(const std::byte* step, std::size_t group, std::size_t) {
        return widen_half(step + group * 32);
    }
};
// The scratch: kGroups groups of one input side by side.
template <std::size_t kGroups>
struct WidenedWeights {
    static constexpr std::size_t kInputs = 1, kStepBytes = kGroups * Lanes::kCount * 4;
    INKSTONE_INLINE static Lanes load(const std::byte* step, std::size_t group, std::size_t) {
        return Lanes::load(reinterpret_cast<const float*>(step) + group % kGroups * Lanes::kCount);
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

// Sixteen floats, or the first count of them.
template <bool kWhole>
INKSTONE_INLINE Lanes load_outputs(const float* p, std::size_t count) {
    return kWhole ? Lanes::load(p) : Lanes::load_first(p, count);
}
template <bool kWhole>
INKSTONE_INLINE void store_outputs(float* p, std::size_t count, Lanes lanes) {
    if (kWhole)
        lanes.store(p);
    else
        lanes.store_first(p, count);
}

// Memory that a later pass will read, brought closer by this one: two lines with each step of the inputs, the second
// `second` bytes after the first, `advance` bytes further with each step.
struct Prefetch {
    const std::byte* begin;
    std::size_t second, advance;
};

// kRows rows from first_row on times kGroups groups of 16 outputs from first_group on, sums in registers. `weights` are
// those of the pass's first input. kWhole says that all these outputs are there; otherwise the last ones are masked.
template <class Weights, std::size_t kRows, std::size_t kGroups, bool kWhole>
[[gnu::noinline]] void multiply_block(const Pass& pass, const std::byte* weights, std::size_t first_row,
                                      std::size_t first_group, Prefetch prefetch) {
    const Arguments& arguments = pass.arguments;
    const std::size_t x_stride = arguments.x_stride, y_stride = arguments.y_stride, inputs = pass.inputs();
    std::size_t outputs[kGroups];
#pragma GCC unroll 4
    for (std::size_t g = 0; g < kGroups; ++g) {
        const std::size_t first = pass.first_output + (first_group + g) * Lanes::kCount;
        const std::size_t left = first < arguments.weight.outputs ? arguments.weight.outputs - first : 0;
        outputs[g] = kWhole || left > Lanes::kCount ? Lanes::kCount : left;
    }
    const std::size_t column = pass.first_output + first_group * Lanes::kCount;
    float* y = arguments.y + first_row * y_stride + column;

    Lanes sums[kRows][kGroups];
#pragma GCC unroll 16
    for (std::size_t r = 0; r < kRows; ++r)
#pragma GCC unroll 4
        for (std::size_t g = 0; g < kGroups; ++g) sums[r][g] = Lanes::zero();
    if (pass.begins())
    // Where the sums will go: the stores at the end would wait for memory.
#pragma GCC unroll 16
        for (std::size_t r = 0; r < kRows; ++r)
#pragma GCC unroll 4
            for (std::size_t g = 0; g < kGroups; ++g) __builtin_prefetch(y + r * y_stride + g * Lanes::kCount, 1, 3);
    else
#pragma GCC unroll 16
        for (std::size_t r = 0; r < kRows; ++r)
#pragma GCC unroll 4
            for (std::size_t g = 0; g < kGroups; ++g)
                sums[r][g] = load_outputs<kWhole>(y + r * y_stride + g * Lanes::kCount, outputs[g]);

    // One pointer for every three rows: the others are reached by adding the stride once or twice.
    constexpr std::size_t kPointers = (kRows + 2) / 3;
    const float* x[kPointers];
    x[0] = arguments.x + first_row * x_stride + pass.first_input;
#pragma GCC unroll 8
    for (std::size_t i = 1; i < kPointers; ++i) x[i] = x[i - 1] + 3 * x_stride;
    // The first `count` inputs of one step.
    const auto multiply_step = [&](std::size_t count) __attribute__((always_inline)) {
#pragma GCC unroll 2
        for (std::size_t i = 0; i < count; ++i) {
            // Words are loaded anew for their other half: kept, they would take the registers of sums.
            if (i > 0) asm volatile("" : : : "memory");
            Lanes weight[kGroups];
#pragma GCC unroll 4
            for (std::size_t g = 0; g < kGroups; ++g) {
                weight[g] = Weights::load(weights, first_group + g, i);
                // A single row uses each weight at once: there are no registers for all of them.
                if (kRows == 1) sums[0][g] = fma(weight[g], Lanes::of(x[0][i]), sums[0][g]);
            }
            if (kRows == 1) continue;
#pragma GCC unroll 16
            for (std::size_t r = 0; r < kRows; ++r) {
                const Lanes input = Lanes::of(x[r / 3][r % 3 * x_stride + i]);
#pragma GCC unroll 4
                for (std::size_t g = 0; g < kGroups; ++g) sums[r][g] = fma(weight[g], input, sums[r][g]);
            }
        }
    };
    for (std::size_t step = 0; step < inputs / Weights::kInputs; ++step) {
        __builtin_prefetch(prefetch.begin, 0, 3);
        __builtin_prefetch(prefetch.begin + prefetch.second, 0, 3);
        prefetch.begin += prefetch.advance;
        multiply_step(Weights::kInputs);
        weights += Weights::kStepBytes;
#pragma GCC unroll 8
        for (std::size_t i = 0; i < kPointers; ++i) x[i] += Weights::kInputs;
    }
    if (inputs % Weights::kInputs != 0) multiply_step(1);  // an odd last input, alone in its pair

    if (pass.ends() && arguments.bias)
#pragma GCC unroll 4
        for (std::size_t g = 0; g < kGroups; ++g) {
            const Lanes bias = load_outputs<kWhole>(arguments.bias + column + g * Lanes::kCount, outputs[g]);
#pragma GCC unroll 16
            for (std::size_t r = 0; r < kRows; ++r) sums[r][g] = sums[r][g] + bias;
        }
#pragma GCC unroll 16
    for (std::size_t r = 0; r < kRows; ++r)
#pragma GCC unroll 4
        for (std::size_t g = 0; g < kGroups; ++g)
            store_outputs<kWhole>(y + r * y_stride + g * Lanes::kCount, outputs[g], sums[r][g]);
}

// `rows` rows, 1 .. kMaximumRows: the instance of multiply_block for that number.
template <class Weights, std::size_t kGroups, std::size_t kMaximumRows>
INKSTONE_INLINE void multiply_rows(const Pass& pass, const std::byte* weights, std::size_t first_row, std::size_t rows,
                                   std::size_t first_group, Prefetch prefetch) {
    if constexpr (kMaximumRows > 1)
        if (rows < kMaximumRows) {
            multiply_rows<Weights, kGroups, kMaximumRows - 1>(pass, weights, first_row, rows, first_group, prefetch);
            return;
        }
    if (pass.first_output + (first_group + kGroups) * Lanes::kCount <= pass.arguments.weight.outputs)
        multiply_block<Weights, kMaximumRows, kGroups, true>(pass, weights, first_row, first_group, prefetch);
    else
        multiply_block<Weights, kMaximumRows, kGroups, false>(pass, weights, first_row, first_group, prefetch);
}

// A block of weights widened to float: kGroups groups of the pass's inputs.
template <class Weights, std::size_t kGroups>
INKSTONE_INLINE void widen(const std::byte* weights, std::size_t inputs, std::size_t first_group, float* widened) {
    for (std::size_t k = 0; k < inputs; k += Weights::kInputs, weights += Weights::kStepBytes)
#pragma GCC unroll 2
        for (std::size_t i = 0; i < Weights::kInputs; ++i)
#pragma GCC unroll 4
            for (std::size_t g = 0; g < kGroups; ++g, widened += Lanes::kCount)
                Weights::load(weights, first_group + g, i).store(widened);
}

// Tile t for the rows [first_row, end_row), cut as `Cut` says; tile next_tile follows.
template <class Weights, class Cut>
void multiply_cut(const Arguments& arguments, std::size_t t, std::size_t next_tile, std::size_t first_row,
                  std::size_t end_row) {
    using Widened = WidenedWeights<Cut::kGroups>;
    const std::size_t blocks = (end_row - first_row + Cut::kRows - 1) / Cut::kRows;
    // An odd last input is widened with its partner.
    alignas(64) float scratch[Cut::kWidens ? (Cut::kInputs + 1) * Cut::kGroups * Lanes::kCount : 1];
    std::size_t begin = 0;
    do {  // at least once: a matrix without inputs gives the bias
        const std::size_t left = arguments.weight.inputs - begin;
        const Pass pass{arguments, t * tensor::kTileOutputs, begin,
                        begin + (left < Cut::kInputs ? left : Cut::kInputs)};
        const std::size_t steps = (pass.inputs() + Weights::kInputs - 1) / Weights::kInputs;
        const std::byte* weights = arguments.weight.tile(t) + begin / Weights::kInputs * Weights::kStepBytes;
        // The first passes over this block prefetch the next, in this tile or the one that follows: its lines, so many
        // for each step, are shared among the passes as evenly as whole lines allow.
        const std::size_t pass_steps = Cut::kWidens ? pass.inputs() : steps;
        const std::byte* next = pass.ends() ? arguments.weight.tile(next_tile) : weights + steps * Weights::kStepBytes;
        std::size_t lines = Weights::kStepBytes / 64 / (Cut::kWidens ? Weights::kInputs : 1);
        std::size_t passes = kTileLanes / Cut::kGroups * blocks;
        for (std::size_t group = 0; group < kTileLanes; group += Cut::kGroups) {
            if constexpr (Cut::kWidens) widen<Weights, Cut::kGroups>(weights, pass.inputs(), group, scratch);
            std::size_t row = first_row;
            for (std::size_t block = 0; block < blocks; ++block, --passes) {
                // Register blocks of nearly equal height.
                const std::size_t height = (end_row - row + blocks - block - 1) / (blocks - block);
                const std::size_t own = (lines + passes - 1) / passes < 2 ? (lines + passes - 1) / passes : 2;
                const Prefetch prefetch{own == 0 ? weights : next, own == 2 ? 64u : 0u, own * 64};
                next += own * 64 * pass_steps;
                lines -= own;
                if constexpr (Cut::kWidens)
                    multiply_rows<Widened, Cut::kGroups, Cut::kRows>(pass, reinterpret_cast<const std::byte*>(scratch),
                                                                     row, height, group, prefetch);
                else
                    multiply_rows<Weights, Cut::kGroups, Cut::kRows>(pass, weights, row, height, group, prefetch);
                row += height;
            }
        }
        begin = pass.end_input;
    } while (begin < arguments.weight.inputs);
}

// Tile t for the rows [first_row, end_row); tile next_tile follows.
template <class Weights>
INKSTONE_INLINE void multiply_tile(const Arguments& arguments, std::size_t t, std::size_t next_tile,
                                   std::size_t first_row, std::size_t end_row) {
    const std::size_t rows = end_row - first_row;
    const std::byte* tile = arguments.weight.tile(t);
    if (rows <= kStreamedRows)
        multiply_rows<Weights, kTileLanes, kStreamedRows>(
            {arguments, t * tensor::kTileOutputs, 0, arguments.weight.inputs}, tile, first_row, rows, 0,
            {tile + kPrefetchDistance, Weights::kStepBytes / 2, Weights::kStepBytes});
    else if (rows <= kFewRows)
        multiply_cut<Weights, Few>(arguments, t, next_tile, first_row, end_row);
    else
        multiply_cut<Weights, typename Weights::ManyRows>(arguments, t, next_tile, first_row, end_row);
}

template <class Weights>
INKSTONE_INLINE void multiply_tiles(const Arguments& arguments, std::size_t first_row, std::size_t end_row,
                                    std::size_t first_tile, std::size_t end_tile) {
    // Chunks of nearly equal size, of whole register blocks, whose inputs stay near while all tiles pass.
    constexpr std::size_t kRows = Weights::ManyRows::kRows;
    const std::size_t cached_rows =
        (kCachedBytes / ((arguments.weight.inputs + 1) * sizeof(float) * kRows) + 1) * kRows;
    for (std::size_t row = first_row; row < end_row;) {
        const std::size_t left = end_row - row, chunks = (left + cached_rows - 1) / cached_rows;
        const std::size_t blocks = (left + chunks * kRows - 1) / (chunks * kRows);
        const std::size_t rows = blocks * kRows < left ? blocks * kRows : left;
        for (std::size_t t = first_tile; t < end_tile; ++t) {
            // The last tile is followed by the first when more rows are to come, by the next call's perhaps otherwise.
            const std::size_t next = t + 1 == end_tile && rows < left ? first_tile : t + 1;
            multiply_tile<Weights>(arguments, t, next, row, row + rows);
        }
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
        case tensor::WeightFormat::q8:
        case tensor::WeightFormat::q4:
            break;  // ops/linear_int8
    }
}

}  // namespace inkstone::ops::linear::INKSTONE_ISA
