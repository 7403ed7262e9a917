// Kernels of linear in BF16 arithmetic, compiled once per instruction set; the backend picks one at run time.
// One row streams each tile once, all 64 outputs in registers: as fast as memory gives weights. More rows go through a
// register tile of kRowBlock rows, so that a weight in a register serves all of them; the inputs are taken in blocks
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

// Rows and groups of 16 outputs of the register tile.
#if defined(INKSTONE_ISA_avx512_bf16)
constexpr std::size_t kRowBlock = 12, kLaneBlock = 2;
#elif defined(INKSTONE_ISA_avx512)
constexpr std::size_t kRowBlock = 10, kLaneBlock = 2;
#else
constexpr std::size_t kRowBlock = 4, kLaneBlock = 1;
#endif
constexpr std::size_t kBlockPairs = 128;
constexpr std::size_t kPrefetchDistance = 2048;   // bytes ahead of a single row's stream
constexpr std::size_t kCachedBytes = 512 * 1024;  // of inputs that stay in the second-level cache

// sum + the products of a pair of inputs and pairs of weights: 16 words of 32 bits each.
#if defined(INKSTONE_ISA_avx512_bf16)
INKSTONE_INLINE Lanes dot(Lanes weights, Lanes inputs, Lanes sum) {
    const auto pairs = [](Lanes lanes) __attribute__((always_inline)) { return reinterpret_cast<__m512bh>(lanes.v); };
    return {_mm512_dpbf16_ps(sum.v, pairs(weights), pairs(inputs))};
}
#else
INKSTONE_INLINE Lanes dot(Lanes weights, Lanes inputs, Lanes sum) {
    sum = fma(upper_halves(weights), upper_halves(inputs), sum);
    return fma(inkstone::INKSTONE_ISA::shift_bits_left<16>(weights),
               inkstone::INKSTONE_ISA::shift_bits_left<16>(inputs), sum);
}
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

// Memory that a later pass will read, brought closer by this one: `bytes_per_pair` for each of its pairs.
struct Prefetch {
    const std::byte* begin;
    std::size_t bytes_per_pair;
};

// kRows rows from first_row on times kGroups groups of 16 outputs from first_group on, sums in registers. `weights` are
// those of the pass's first pair.
template <std::size_t kRows, std::size_t kGroups>
[[gnu::noinline]] void multiply_block(const Pass& pass, const std::byte* weights, std::size_t first_row,
                                      std::size_t first_group, Prefetch prefetch) {
    constexpr std::size_t kPrefetchLines = (kPairBytes * kGroups / kTileLanes + 63) / 64;
    const Arguments& arguments = pass.arguments;
    const std::size_t x_stride = arguments.x_stride * sizeof(std::uint16_t), y_stride = arguments.y_stride;
    const std::size_t pairs = pass.pairs();
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

    // One pointer for every three rows: the others are reached by adding the stride once or twice.
    constexpr std::size_t kPointers = (kRows + 2) / 3;
    const std::byte* x[kPointers];
    x[0] = reinterpret_cast<const std::byte*>(arguments.x) + first_row * x_stride + pass.first_pair * 4;
#pragma GCC unroll 8
    for (std::size_t i = 1; i < kPointers; ++i) x[i] = x[i - 1] + 3 * x_stride;
    weights += first_group * 64;
    for (std::size_t pair = 0; pair < pairs; ++pair) {
#pragma GCC unroll 4
        for (std::size_t line = 0; line < kPrefetchLines; ++line) __builtin_prefetch(prefetch.begin + line * 64, 0, 2);
        prefetch.begin += prefetch.bytes_per_pair;
        Lanes weight[kGroups];
#pragma GCC unroll 4
        for (std::size_t g = 0; g < kGroups; ++g)
            weight[g] = Lanes::load(reinterpret_cast<const float*>(weights + g * 64));
        weights += kPairBytes;
#pragma GCC unroll 16
        for (std::size_t r = 0; r < kRows; ++r) {
            float words;
            __builtin_memcpy(&words, x[r / 3] + r % 3 * x_stride, sizeof words);
            const Lanes input = Lanes::of(words);
#pragma GCC unroll 4
            for (std::size_t g = 0; g < kGroups; ++g) sums[r][g] = dot(weight[g], input, sums[r][g]);
        }
#pragma GCC unroll 8
        for (std::size_t i = 0; i < kPointers; ++i) x[i] += 4;
    }

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
template <std::size_t kGroups, std::size_t kMaximumRows>
INKSTONE_INLINE void multiply_rows(const Pass& pass, const std::byte* weights, std::size_t first_row, std::size_t rows,
                                   std::size_t first_group, Prefetch prefetch) {
    if (rows == kMaximumRows)
        multiply_block<kMaximumRows, kGroups>(pass, weights, first_row, first_group, prefetch);
    else if constexpr (kMaximumRows > 1)
        multiply_rows<kGroups, kMaximumRows - 1>(pass, weights, first_row, rows, first_group, prefetch);
}

// All rows [first_row, end_row) in register blocks of nearly equal height. The first block prefetches for all.
INKSTONE_INLINE void multiply_all_rows(const Pass& pass, const std::byte* weights, std::size_t first_row,
                                       std::size_t end_row, std::size_t first_group, Prefetch prefetch) {
    while (first_row < end_row) {
        const std::size_t left = end_row - first_row, blocks = (left + kRowBlock - 1) / kRowBlock;
        const std::size_t rows = (left + blocks - 1) / blocks;
        multiply_rows<kLaneBlock, kRowBlock>(pass, weights, first_row, rows, first_group, prefetch);
        first_row += rows;
        prefetch = {weights, 0};
    }
}

// Tile t for the rows [first_row, end_row).
void multiply_tile(const Arguments& arguments, std::size_t t, std::size_t first_row, std::size_t end_row) {
    const std::size_t pairs = arguments.weight.packed_inputs() / 2, first_output = t * tensor::kTileOutputs;
    const std::byte* tile = arguments.weight.tile(t);
    if (end_row - first_row == 1) {
        multiply_block<1, kTileLanes>({arguments, first_output, 0, pairs}, tile, first_row, 0,
                                      {tile + kPrefetchDistance, kPairBytes});
        return;
    }
    std::size_t begin = 0;
    do {  // at least once: a matrix without inputs gives the bias
        const std::size_t end = pairs - begin < kBlockPairs ? pairs : begin + kBlockPairs;
        const Pass pass{arguments, first_output, begin, end};
        const std::byte* weights = tile + begin * kPairBytes;
        for (std::size_t group = 0; group < kTileLanes; group += kLaneBlock) {
            // The passes over the groups of this block share the prefetching of the next, in this tile or the
            // following.
            constexpr std::size_t kShare = kPairBytes / kTileLanes;
            const Prefetch next{weights + pass.pairs() * (kPairBytes + group * kShare), kShare * kLaneBlock};
            multiply_all_rows(pass, weights, first_row, end_row, group, next);
        }
        begin = end;
    } while (begin < pairs);
}

}  // namespace

void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row, std::size_t first_tile,
         std::size_t end_tile) {
#if INKSTONE_FLUSHES_DENORMALS
    const inkstone::INKSTONE_ISA::FlushDenormals flush;
    const std::size_t row_bytes = arguments.weight.packed_inputs() * sizeof(std::uint16_t) + 1;
    const std::size_t cached_blocks = kCachedBytes / (row_bytes * kRowBlock) + 1;
    for (std::size_t row = first_row; row < end_row;) {
        // Chunks of nearly equal size, of whole register blocks, whose inputs stay near while all tiles pass.
        const std::size_t cached_rows = cached_blocks * kRowBlock;
        const std::size_t left = end_row - row, chunks = (left + cached_rows - 1) / cached_rows;
        const std::size_t blocks = (left + chunks * kRowBlock - 1) / (chunks * kRowBlock);
        const std::size_t rows = blocks * kRowBlock < left ? blocks * kRowBlock : left;
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
