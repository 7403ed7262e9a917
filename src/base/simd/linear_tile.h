// The walk of products' kernels through packed weights, shared by the operators that differ in arithmetic only
// (ops/linear, ops/linear_bf16). Only for cpu.cpp files, like lanes.h.
//
// One row, or few, stream each tile once, all of its outputs in registers: as fast as memory gives weights. More rows
// go through a register tile, so that a weight in a register serves all of its rows; the inputs are taken in blocks
// whose weights stay in a cache while all rows pass. Where registers are few, or widening is dear, a block of weights
// is first widened to float in a scratch. Blocking over the inputs stores partial sums in y and takes them up again,
// which changes no bit: an output still has one accumulator that sees the inputs in order.
//
// An element is what a row brings to one product: a float, or a pair of bfloat16 numbers; it has 4 bytes. A class
// `Arithmetic` says how the products are taken:
//   kTileOutputs                  outputs of a tile of the packed matrix
//   kCachedBytes                  of inputs that stay in the second-level cache
//   elements(weight)              of a row
//   input(x, product)             the row's part in a product in every lane; x points to the first element of a step
//   multiply_add(weights, inputs, sum)        one product for 16 outputs
// A class `Weights` says how the weights lie. A step is so many elements as lie together:
//   kElements, kStepBytes         elements of a step, and the bytes of its weights in a tile
//   kProducts                     products of one step, in order: one to each of its elements, or several of its only
//                                 element
//   load(step, group, product)    the weights of one product for 16 outputs, `group` groups of 16 after `step`
//   kStreamedRows, Few, kFewRows, Some, kSomeRows, Many
//                                 LinearCuts by the number of rows: up to kStreamedRows a tile passes once, all of its
//                                 outputs at a time; Few up to kFewRows, Some up to kSomeRows, then Many
#pragma once

#include <cstddef>

#include "base/simd/lanes.h"

namespace inkstone::INKSTONE_ISA {

// How rows and inputs are cut: register tiles of kRows rows and kGroups groups of 16 outputs, blocks of kElements
// elements (whole steps), widened or not.
template <std::size_t kTileRows, std::size_t kTileGroups, std::size_t kBlockElements, bool kWidensWeights = false>
struct LinearCut {
    static constexpr std::size_t kRows = kTileRows, kGroups = kTileGroups, kElements = kBlockElements;
    static constexpr bool kWidens = kWidensWeights;
};

template <class Arithmetic>
class LinearTile {
    static constexpr std::size_t kTileOutputs = Arithmetic::kTileOutputs, kTileLanes = kTileOutputs / Lanes::kCount;
    static constexpr std::size_t kElementBytes = 4, kCacheLine = 64;
    static constexpr std::size_t kPrefetchDistance = 2048;  // bytes ahead of a stream

public:
    // Rows [first_row, end_row) of the outputs of tiles [first_tile, end_tile) of a product's Arguments.
    template <class Weights, class Arguments>
    INKSTONE_INLINE static void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row,
                                    std::size_t first_tile, std::size_t end_tile) {
        // Chunks of nearly equal size, of whole register blocks, whose inputs stay near while all tiles pass.
        constexpr std::size_t kRows = Weights::Many::kRows;
        const std::size_t row_bytes = (Arithmetic::elements(arguments.weight) + 1) * kElementBytes;
        const std::size_t cached_rows = (Arithmetic::kCachedBytes / (row_bytes * kRows) + 1) * kRows;
        for (std::size_t row = first_row; row < end_row;) {
            const std::size_t left = end_row - row, chunks = (left + cached_rows - 1) / cached_rows;
            const std::size_t blocks = (left + chunks * kRows - 1) / (chunks * kRows);
            const std::size_t rows = blocks * kRows < left ? blocks * kRows : left;
            for (std::size_t t = first_tile; t < end_tile; ++t) {
                // The last tile is followed by the first when more rows are to come, by the next call's perhaps
                // otherwise.
                const std::size_t next = t + 1 == end_tile && rows < left ? first_tile : t + 1;
                multiply_tile<Weights>(arguments, t, next, row, row + rows);
            }
            row += rows;
        }
    }

private:
    // The scratch: kGroups groups of one element side by side.
    template <std::size_t kGroups>
    struct Widened {
        static constexpr std::size_t kElements = 1, kProducts = 1, kStepBytes = kGroups * Lanes::kCount * sizeof(float);
        INKSTONE_INLINE static Lanes load(const std::byte* step, std::size_t group, std::size_t) {
            return Lanes::load(reinterpret_cast<const float*>(step) + group * Lanes::kCount);
        }
    };

    // What one pass over rows computes: some elements of the outputs of one tile.
    template <class Arguments>
    struct Pass {
        const Arguments& arguments;
        std::size_t first_output;  // of the tile
        std::size_t first_element, end_element;

        std::size_t elements() const { return end_element - first_element; }
        bool begins() const { return first_element == 0; }
        bool ends() const { return end_element == Arithmetic::elements(arguments.weight); }
    };

    // Sixteen floats, or the first count of them.
    template <bool kWhole>
    INKSTONE_INLINE static Lanes load_outputs(const float* p, std::size_t count) {
        return kWhole ? Lanes::load(p) : Lanes::load_first(p, count);
    }
    template <bool kWhole>
    INKSTONE_INLINE static void store_outputs(float* p, std::size_t count, Lanes lanes) {
        if (kWhole)
            lanes.store(p);
        else
            lanes.store_first(p, count);
    }

    // Memory that a later pass will read, brought closer by this one: two lines with each step, the second `second`
    // bytes after the first, `advance` bytes further with each step.
    struct Prefetch {
        const std::byte* begin;
        std::size_t second, advance;
    };

    // kRows rows from first_row on times kGroups groups of 16 outputs from first_group on, sums in registers. `weights`
    // are theirs of the pass's first step. kWhole says that all these outputs are there; otherwise the last ones are
    // masked.
    template <class Weights, std::size_t kRows, std::size_t kGroups, bool kWhole, class Arguments>
    [[gnu::noinline]] static void multiply_block(const Pass<Arguments>& pass, const std::byte* weights,
                                                 std::size_t first_row, std::size_t first_group, Prefetch prefetch) {
        const Arguments& arguments = pass.arguments;
        const std::size_t x_stride = arguments.x_stride * sizeof *arguments.x, y_stride = arguments.y_stride;
        static_assert(Weights::kProducts == Weights::kElements || Weights::kElements == 1);
        const std::size_t elements = pass.elements();
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
                for (std::size_t g = 0; g < kGroups; ++g)
                    __builtin_prefetch(y + r * y_stride + g * Lanes::kCount, 1, 3);
        else
#pragma GCC unroll 16
            for (std::size_t r = 0; r < kRows; ++r)
#pragma GCC unroll 4
                for (std::size_t g = 0; g < kGroups; ++g)
                    sums[r][g] = load_outputs<kWhole>(y + r * y_stride + g * Lanes::kCount, outputs[g]);

        // One pointer for every three rows: the others are reached by adding the stride once or twice.
        constexpr std::size_t kPointers = (kRows + 2) / 3;
        const std::byte* x[kPointers];
        x[0] =
            reinterpret_cast<const std::byte*>(arguments.x) + first_row * x_stride + pass.first_element * kElementBytes;
#pragma GCC unroll 8
        for (std::size_t i = 1; i < kPointers; ++i) x[i] = x[i - 1] + 3 * x_stride;
        // The first `count` products of one step.
        const auto multiply_step = [&](std::size_t count) __attribute__((always_inline)) {
#pragma GCC unroll 2
            for (std::size_t product = 0; product < count; ++product) {
                // Words are loaded anew for their other half: kept, they would take the registers of sums.
                if (product > 0) asm volatile("" : : : "memory");
                Lanes weight[kGroups];
#pragma GCC unroll 4
                for (std::size_t g = 0; g < kGroups; ++g) {
                    weight[g] = Weights::load(weights, g, product);
                    // A single row uses each weight at once: there are not registers for all of them everywhere.
                    if (kRows == 1)
                        sums[0][g] = Arithmetic::multiply_add(weight[g], Arithmetic::input(x[0], product), sums[0][g]);
                }
                if (kRows == 1) continue;
#pragma GCC unroll 16
                for (std::size_t r = 0; r < kRows; ++r) {
                    const Lanes input = Arithmetic::input(x[r / 3] + r % 3 * x_stride, product);
#pragma GCC unroll 4
                    for (std::size_t g = 0; g < kGroups; ++g)
                        sums[r][g] = Arithmetic::multiply_add(weight[g], input, sums[r][g]);
                }
            }
        };
        for (std::size_t step = 0; step < elements / Weights::kElements; ++step) {
            __builtin_prefetch(prefetch.begin, 0, 3);
            __builtin_prefetch(prefetch.begin + prefetch.second, 0, 3);
            prefetch.begin += prefetch.advance;
            multiply_step(Weights::kProducts);
            weights += Weights::kStepBytes;
#pragma GCC unroll 8
            for (std::size_t i = 0; i < kPointers; ++i) x[i] += Weights::kElements * kElementBytes;
        }
        if (elements % Weights::kElements != 0) multiply_step(1);  // an odd last element, alone in its step

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
    template <class Weights, std::size_t kGroups, std::size_t kMaximumRows, class Arguments>
    INKSTONE_INLINE static void multiply_rows(const Pass<Arguments>& pass, const std::byte* weights,
                                              std::size_t first_row, std::size_t rows, std::size_t first_group,
                                              Prefetch prefetch) {
        if constexpr (kMaximumRows > 1)
            if (rows < kMaximumRows) {
                multiply_rows<Weights, kGroups, kMaximumRows - 1>(pass, weights, first_row, rows, first_group,
                                                                  prefetch);
                return;
            }
        if (pass.first_output + (first_group + kGroups) * Lanes::kCount <= pass.arguments.weight.outputs)
            multiply_block<Weights, kMaximumRows, kGroups, true>(pass, weights, first_row, first_group, prefetch);
        else
            multiply_block<Weights, kMaximumRows, kGroups, false>(pass, weights, first_row, first_group, prefetch);
    }

    // A block of weights widened to float: kGroups groups of the pass's elements, which are floats.
    template <class Weights, std::size_t kGroups>
    INKSTONE_INLINE static void widen(const std::byte* weights, std::size_t elements, float* widened) {
        static_assert(Weights::kProducts == Weights::kElements);
        for (std::size_t k = 0; k < elements; k += Weights::kElements, weights += Weights::kStepBytes)
#pragma GCC unroll 2
            for (std::size_t i = 0; i < Weights::kElements; ++i)
#pragma GCC unroll 4
                for (std::size_t g = 0; g < kGroups; ++g, widened += Lanes::kCount)
                    Weights::load(weights, g, i).store(widened);
    }

    // Tile t for the rows [first_row, end_row), cut as `Cut` says; tile next_tile follows.
    template <class Weights, class Cut, class Arguments>
    static void multiply_cut(const Arguments& arguments, std::size_t t, std::size_t next_tile, std::size_t first_row,
                             std::size_t end_row) {
        const std::size_t elements = Arithmetic::elements(arguments.weight);
        const std::size_t blocks = (end_row - first_row + Cut::kRows - 1) / Cut::kRows;
        // An odd last element is widened with its partner.
        alignas(64) float scratch[Cut::kWidens ? (Cut::kElements + 1) * Cut::kGroups * Lanes::kCount : 1];
        std::size_t begin = 0;
        do {  // at least once: a matrix without inputs gives the bias
            const std::size_t left = elements - begin;
            const Pass<Arguments> pass{arguments, t * kTileOutputs, begin,
                                       begin + (left < Cut::kElements ? left : Cut::kElements)};
            const std::size_t steps = (pass.elements() + Weights::kElements - 1) / Weights::kElements;
            const std::byte* weights = arguments.weight.tile(t) + begin / Weights::kElements * Weights::kStepBytes;
            // The first passes over this block prefetch the next, in this tile or the one that follows: its lines, so
            // many for each step, are shared among the passes as evenly as whole lines allow.
            const std::size_t pass_steps = Cut::kWidens ? pass.elements() : steps;
            const std::byte* next =
                pass.ends() ? arguments.weight.tile(next_tile) : weights + steps * Weights::kStepBytes;
            std::size_t lines = Weights::kStepBytes / kCacheLine / (Cut::kWidens ? Weights::kElements : 1);
            std::size_t passes = kTileLanes / Cut::kGroups * blocks;
            for (std::size_t group = 0; group < kTileLanes; group += Cut::kGroups) {
                const std::byte* own_weights = weights + group * (Weights::kStepBytes / kTileLanes);
                if constexpr (Cut::kWidens) widen<Weights, Cut::kGroups>(own_weights, pass.elements(), scratch);
                std::size_t row = first_row;
                for (std::size_t block = 0; block < blocks; ++block, --passes) {
                    // Register blocks of nearly equal height.
                    const std::size_t height = (end_row - row + blocks - block - 1) / (blocks - block);
                    const std::size_t own = (lines + passes - 1) / passes < 2 ? (lines + passes - 1) / passes : 2;
                    const Prefetch prefetch{own == 0 ? weights : next, own == 2 ? kCacheLine : 0, own * kCacheLine};
                    next += own * kCacheLine * pass_steps;
                    lines -= own;
                    if constexpr (Cut::kWidens)
                        multiply_rows<Widened<Cut::kGroups>, Cut::kGroups, Cut::kRows>(
                            pass, reinterpret_cast<const std::byte*>(scratch), row, height, group, prefetch);
                    else
                        multiply_rows<Weights, Cut::kGroups, Cut::kRows>(pass, own_weights, row, height, group,
                                                                         prefetch);
                    row += height;
                }
            }
            begin = pass.end_element;
        } while (begin < elements);
    }

    // Tile t for the rows [first_row, end_row); tile next_tile follows.
    template <class Weights, class Arguments>
    [[gnu::noinline]] static void multiply_tile(const Arguments& arguments, std::size_t t, std::size_t next_tile,
                                                std::size_t first_row, std::size_t end_row) {
        const std::size_t rows = end_row - first_row;
        const std::byte* tile = arguments.weight.tile(t);
        if (rows <= Weights::kStreamedRows)
            multiply_rows<Weights, kTileLanes, Weights::kStreamedRows>(
                Pass<Arguments>{arguments, t * kTileOutputs, 0, Arithmetic::elements(arguments.weight)}, tile,
                first_row, rows, 0, {tile + kPrefetchDistance, Weights::kStepBytes / 2, Weights::kStepBytes});
        else if (rows <= Weights::kFewRows)
            multiply_cut<Weights, typename Weights::Few>(arguments, t, next_tile, first_row, end_row);
        else if (rows <= Weights::kSomeRows)
            multiply_cut<Weights, typename Weights::Some>(arguments, t, next_tile, first_row, end_row);
        else
            multiply_cut<Weights, typename Weights::Many>(arguments, t, next_tile, first_row, end_row);
    }
};

}  // namespace inkstone::INKSTONE_ISA
