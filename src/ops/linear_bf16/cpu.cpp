// Kernels of linear in BF16 arithmetic, compiled once per instruction set; the backend picks one at run time.
// One row streams each tile once, all 64 outputs in registers: as fast as memory gives weights. More rows go through a
// register tile of Many::kRows rows, so that a weight in a register serves all of them; the inputs are taken in blocks
// whose weights stay in the first-level cache while all rows pass. Blocking stores partial sums in y and takes them up
// again, which changes no bit: an output still has one accumulator that sees the inputs in order.
#include "base/simd/flush_denormals.h"
#include "base/simd/lanes.h"
#include "ops/linear_bf16/linear_bf16.h"

#if !INKSTONE_FLUSHES_DENORMALS
#include "base/flushed_fma.h"
#endif

namespace inkstone::ops::linear_bf16::INKSTONE_ISA {

using inkstone::INKSTONE_ISA::Lanes;

namespace {

constexpr std::size_t kTileLanes = tensor::kTileOutputs / Lanes::kCount;
constexpr std::size_t kPairBytes = tensor::kTileOutputs * 4;  // of one pair of inputs in a tile

// How rows and inputs are cut: register tiles of kRows rows and kGroups groups of 16 outputs, and blocks of kPairs
// pairs of inputs, whose weights stay in a cache while all rows pass.
template <std::size_t kTileRows, std::size_t kTileGroups, std::size_t kBlockPairs>
struct Cut {
    static constexpr std::size_t kRows = kTileRows, kGroups = kTileGroups, kPairs = kBlockPairs;
};
// From 2 rows on, by the number of rows: up to kStreamedRows all of a tile passes once, nothing is blocked; Few up to
// kFewRows, Some up to kSomeRows, then Many.
#if defined(INKSTONE_ISA_avx512_bf16)
// 24 accumulators, 2 or 4 weights and an input of 32 registers. Measured on Zen 5: 4 groups read whole lines and few
// inputs, and their weights may come from the second-level cache; while memory is the limit, short blocks and 2 groups
// spread the prefetching better.
constexpr std::size_t kStreamedRows = 6, kFewRows = 8, kSomeRows = 18;
using Few = Cut<6, 4, 32>;
using Some = Cut<12, 2, 64>;
using Many = Cut<6, 4, 576>;
#elif defined(INKSTONE_ISA_avx512)
// 24 accumulators, 2 weights, an input and a mask of 32 registers.
constexpr std::size_t kStreamedRows = 1, kFewRows = 1, kSomeRows = 1;
using Few = Cut<12, 2, 128>;
using Some = Few;
using Many = Few;
#else
// AVX2: 12 accumulators, 2 weights, an input and a mask of 16 registers.
constexpr std::size_t kStreamedRows = 1, kFewRows = 1, kSomeRows = 1;
using Few = Cut<6, 1, 128>;
using Some = Few;
using Many = Few;
#endif
constexpr std::size_t kPrefetchDistance = 2048;   // bytes ahead of a single row's stream
constexpr std::size_t kCachedBytes = 256 * 1024;  // of inputs that stay in the second-level cache

// The products of a pair of inputs: one instruction on words of 32 bits, or two multiply-adds on their halves, the
// second input first. `product` counts them.
#if defined(INKSTONE_ISA_avx512_bf16)
constexpr std::size_t kProducts = 1;
INKSTONE_INLINE Lanes load_weights(const std::byte* words, std::size_t) {
    return Lanes::load(reinterpret_cast<const float*>(words));
}
INKSTONE_INLINE Lanes take_input(Lanes words, std::size_t) { return words; }
INKSTONE_INLINE Lanes multiply_add(Lanes weights, Lanes inputs, Lanes sum) {
    const auto pairs = [](Lanes lanes) __attribute__((always_inline)) { return reinterpret_cast<__m512bh>(lanes.v); };
    return {_mm512_dpbf16_ps(sum.v, pairs(weights), pairs(inputs))};
}
#else
constexpr std::size_t kProducts = 2;
INKSTONE_INLINE Lanes load_weights(const std::byte* words, std::size_t product) {
    return product == 0 ? inkstone::INKSTONE_ISA::widen_high(words) : inkstone::INKSTONE_ISA::widen_low(words);
}
INKSTONE_INLINE Lanes take_input(Lanes words, std::size_t product) {
    return product == 0 ? upper_halves(words) : inkstone::INKSTONE_ISA::shift_bits_left<16>(words);
}
INKSTONE_INLINE Lanes multiply_add(Lanes weights, Lanes inputs, Lanes sum) { return fma(weights, inputs, sum); }
#endif

// What one pass over rows computes: some pairs of inputs of the outputs of one tile.
struct Pass {
    const Arguments& arguments;
    std::size_t first_output;  // of the tile
    std::size_t first_pair, end_pair;

    std::size_t pairs() const { return end_pair - first_pair; }
    bool begins() const { return first_pair == 0; }
    bool ends() const { return end_pair == arguments.weight.packed_inputs() / 2; }
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

// A pair of inputs in every lane.
INKSTONE_INLINE Lanes load_pair(const std::byte* pair) {
    float words;
    __builtin_memcpy(&words, pair, sizeof words);
    return Lanes::of(words);
}

// Memory that a later pass will read, brought closer by this one: two lines with each pair, the second `second` bytes
// after the first, `step` bytes further with each pair.
struct Prefetch {
    const std::byte* begin;
    std::size_t second, step;
};

// kRows rows from first_row on times kGroups groups of 16 outputs from first_group on, sums in registers. `weights` are
// those of the pass's first pair. kWhole says that all these outputs are there; otherwise the last ones are masked.
template <std::size_t kRows, std::size_t kGroups, bool kWhole>
[[gnu::noinline]] void multiply_block(const Pass& pass, const std::byte* weights, std::size_t first_row,
                                      std::size_t first_group, Prefetch prefetch) {
    const Arguments& arguments = pass.arguments;
    const std::size_t x_stride = arguments.x_stride * sizeof(std::uint16_t), y_stride = arguments.y_stride;
    const std::size_t pairs = pass.pairs();
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
    if (!pass.begins())
#pragma GCC unroll 16
        for (std::size_t r = 0; r < kRows; ++r)
#pragma GCC unroll 4
            for (std::size_t g = 0; g < kGroups; ++g)
                sums[r][g] = load_outputs<kWhole>(y + r * y_stride + g * Lanes::kCount, outputs[g]);

    // One pointer for every three rows: the others are reached by adding the stride once or twice.
    constexpr std::size_t kPointers = (kRows + 2) / 3;
    const std::byte* x[kPointers];
    x[0] = reinterpret_cast<const std::byte*>(arguments.x) + first_row * x_stride + pass.first_pair * 4;
#pragma GCC unroll 8
    for (std::size_t i = 1; i < kPointers; ++i) x[i] = x[i - 1] + 3 * x_stride;
    weights += first_group * 64;
    for (std::size_t pair = 0; pair < pairs; ++pair) {
        __builtin_prefetch(prefetch.begin, 0, 3);
        __builtin_prefetch(prefetch.begin + prefetch.second, 0, 3);
        prefetch.begin += prefetch.step;
#pragma GCC unroll 2
        for (std::size_t product = 0; product < kProducts; ++product) {
            // Words are loaded anew for their other half: kept, they would take the registers of sums.
            if (product > 0) asm volatile("" : : : "memory");
            Lanes weight[kGroups];
#pragma GCC unroll 4
            for (std::size_t g = 0; g < kGroups; ++g) {
                weight[g] = load_weights(weights + g * 64, product);
                // A single row uses each weight at once: there are not registers for all of them everywhere.
                if (kRows == 1) sums[0][g] = multiply_add(weight[g], take_input(load_pair(x[0]), product), sums[0][g]);
            }
            if (kRows == 1) continue;
#pragma GCC unroll 16
            for (std::size_t r = 0; r < kRows; ++r) {
                const Lanes input = take_input(load_pair(x[r / 3] + r % 3 * x_stride), product);
#pragma GCC unroll 4
                for (std::size_t g = 0; g < kGroups; ++g) sums[r][g] = multiply_add(weight[g], input, sums[r][g]);
            }
        }
        weights += kPairBytes;
#pragma GCC unroll 8
        for (std::size_t i = 0; i < kPointers; ++i) x[i] += 4;
    }

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
template <std::size_t kGroups, std::size_t kMaximumRows>
INKSTONE_INLINE void multiply_rows(const Pass& pass, const std::byte* weights, std::size_t first_row, std::size_t rows,
                                   std::size_t first_group, Prefetch prefetch) {
    if constexpr (kMaximumRows > 1)
        if (rows < kMaximumRows) {
            multiply_rows<kGroups, kMaximumRows - 1>(pass, weights, first_row, rows, first_group, prefetch);
            return;
        }
    if (pass.first_output + (first_group + kGroups) * Lanes::kCount <= pass.arguments.weight.outputs)
        multiply_block<kMaximumRows, kGroups, true>(pass, weights, first_row, first_group, prefetch);
    else
        multiply_block<kMaximumRows, kGroups, false>(pass, weights, first_row, first_group, prefetch);
}

// Tile t for the rows [first_row, end_row), cut as `Cut` says.
template <class Cut>
void multiply_cut(const Arguments& arguments, std::size_t t, std::size_t first_row, std::size_t end_row) {
    const std::size_t pairs = arguments.weight.packed_inputs() / 2;
    const std::size_t blocks = (end_row - first_row + Cut::kRows - 1) / Cut::kRows;
    std::size_t begin = 0;
    do {  // at least once: a matrix without inputs gives the bias
        const std::size_t end = pairs - begin < Cut::kPairs ? pairs : begin + Cut::kPairs;
        const Pass pass{arguments, t * tensor::kTileOutputs, begin, end};
        const std::byte* weights = arguments.weight.tile(t) + begin * kPairBytes;
        // The first passes over this block prefetch the next, in this tile or the following: its lines, of which there
        // are kTileLanes for each pair, are shared among the passes as evenly as whole lines allow.
        const std::byte* next = weights + pass.pairs() * kPairBytes;
        std::size_t passes = kTileLanes / Cut::kGroups * blocks, lines = kTileLanes;
        for (std::size_t group = 0; group < kTileLanes; group += Cut::kGroups) {
            std::size_t row = first_row;
            for (std::size_t block = 0; block < blocks; ++block, --passes) {
                // Register blocks of nearly equal height.
                const std::size_t height = (end_row - row + blocks - block - 1) / (blocks - block);
                const std::size_t own = (lines + passes - 1) / passes < 2 ? (lines + passes - 1) / passes : 2;
                const Prefetch prefetch{own == 0 ? weights : next, own == 2 ? 64u : 0u, own * 64};
                next += own * 64 * pass.pairs();
                lines -= own;
                multiply_rows<Cut::kGroups, Cut::kRows>(pass, weights, row, height, group, prefetch);
                row += height;
            }
        }
        begin = end;
    } while (begin < pairs);
}

// Tile t for the rows [first_row, end_row).
[[gnu::noinline]] void multiply_tile(const Arguments& arguments, std::size_t t, std::size_t first_row,
                                     std::size_t end_row) {
    const std::size_t rows = end_row - first_row;
    const std::byte* tile = arguments.weight.tile(t);
    if (rows <= kStreamedRows)
        multiply_rows<kTileLanes, kStreamedRows>(
            {arguments, t * tensor::kTileOutputs, 0, arguments.weight.packed_inputs() / 2}, tile, first_row, rows, 0,
            {tile + kPrefetchDistance, 128, kPairBytes});
    else if (rows <= kFewRows)
        multiply_cut<Few>(arguments, t, first_row, end_row);
    else if (rows <= kSomeRows)
        multiply_cut<Some>(arguments, t, first_row, end_row);
    else
        multiply_cut<Many>(arguments, t, first_row, end_row);
}

}  // namespace

void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row, std::size_t first_tile,
         std::size_t end_tile) {
#if INKSTONE_FLUSHES_DENORMALS
    const inkstone::INKSTONE_ISA::FlushDenormals flush;
    const std::size_t row_bytes = arguments.weight.packed_inputs() * sizeof(std::uint16_t) + 1;
    const std::size_t cached_blocks = kCachedBytes / (row_bytes * Many::kRows) + 1;
    for (std::size_t row = first_row; row < end_row;) {
        // Chunks of nearly equal size, of whole register blocks, whose inputs stay near while all tiles pass.
        const std::size_t cached_rows = cached_blocks * Many::kRows;
        const std::size_t left = end_row - row, chunks = (left + cached_rows - 1) / cached_rows;
        const std::size_t blocks = (left + chunks * Many::kRows - 1) / (chunks * Many::kRows);
        const std::size_t rows = blocks * Many::kRows < left ? blocks * Many::kRows : left;
        for (std::size_t t = first_tile; t < end_tile; ++t) multiply_tile(arguments, t, row, row + rows);
        row += rows;
    }
#else
    // No such mode here: as the reference does it, element by element.
    for (std::size_t n = first_tile * tensor::kTileOutputs;
         n < end_tile * tensor::kTileOutputs && n < arguments.weight.outputs; ++n)
        for (std::size_t r = first_row; r < end_row; ++r) {
            float sum = 0.0f;
            for (std::size_t pair = 0; pair < arguments.weight.packed_inputs() / 2; ++pair) {
                const std::byte* words = arguments.weight.tile(n / tensor::kTileOutputs) + pair * kPairBytes;
                const std::uint16_t* x = arguments.x + r * arguments.x_stride + 2 * pair;
                std::uint16_t w[2];
                __builtin_memcpy(w, words + n % tensor::kTileOutputs * 4, sizeof w);
                const auto widen = [](std::uint16_t bits) {
                    return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
                };
                sum = flushed_fma(widen(w[1]), widen(x[1]), sum);
                sum = flushed_fma(widen(w[0]), widen(x[0]), sum);
            }
            if (arguments.bias) sum = flush_denormal(sum + flush_denormal(arguments.bias[n]));
            arguments.y[r * arguments.y_stride + n] = sum;
        }
#endif
}

}  // namespace inkstone::ops::linear_bf16::INKSTONE_ISA
