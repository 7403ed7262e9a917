// Kernels of linear, compiled once per instruction set; the backend picks one at run time. The walk through the packed
// weights is that of base/simd/linear_tile.h; here are the products of floats, for each format of weights.
#include "base/simd/lanes.h"
#include "base/simd/linear_tile.h"
#include "ops/linear/linear.h"

namespace inkstone::ops::linear::INKSTONE_ISA {
namespace {

using inkstone::INKSTONE_ISA::Lanes;
using inkstone::INKSTONE_ISA::LinearCut;
using inkstone::INKSTONE_ISA::widen_half;
using inkstone::INKSTONE_ISA::widen_high;
using inkstone::INKSTONE_ISA::widen_low;

// An element is a float.
struct FloatArithmetic {
    static constexpr std::size_t kTileOutputs = tensor::kTileOutputs, kCachedBytes = 512 * 1024;

    INKSTONE_INLINE static std::size_t elements(const tensor::PackedMatrix& weight) { return weight.inputs; }
    INKSTONE_INLINE static Lanes input(const std::byte* x, std::size_t product) {
        return Lanes::of(reinterpret_cast<const float*>(x)[product]);
    }
    INKSTONE_INLINE static Lanes multiply_add(Lanes weights, Lanes inputs, Lanes sum) {
        return fma(weights, inputs, sum);
    }
};

struct Cuts {
#if defined(INKSTONE_ISA_avx512)
    // 24 accumulators, 2 or 4 weights and an input of 32 registers. 4 groups read whole lines and few inputs, and their
    // weights may come from the second-level cache.
    static constexpr std::size_t kStreamedRows = 2, kFewRows = 12, kSomeRows = kFewRows;
    using Few = LinearCut<12, 2, 128>;
    using Many = LinearCut<6, 4, 1152>;
    using ManyHalves = LinearCut<12, 2, 128, true>;
#elif defined(INKSTONE_ISA_avx2)
    // 12 accumulators, 2 weights and an input of 16 registers.
    static constexpr std::size_t kStreamedRows = 1, kFewRows = 17, kSomeRows = kFewRows;
    using Few = LinearCut<6, 1, 128>;
    using Many = LinearCut<6, 1, 256, true>;
    using ManyHalves = Many;
#else
    static constexpr std::size_t kStreamedRows = 1, kFewRows = 11, kSomeRows = kFewRows;
    using Few = LinearCut<4, 1, 128>;
    using Many = LinearCut<4, 1, 256, true>;
    using ManyHalves = Many;
#endif
    using Some = Few;
};

struct FloatWeights : Cuts {
    static constexpr std::size_t kElements = 1, kProducts = 1, kStepBytes = tensor::kTileOutputs * 4;
    INKSTONE_INLINE static Lanes load(const std::byte* step, std::size_t group, std::size_t) {
        return Lanes::load(reinterpret_cast<const float*>(step) + group * Lanes::kCount);
    }
};
struct BfloatWeights : Cuts {
    static constexpr std::size_t kElements = 2, kProducts = 2, kStepBytes = tensor::kTileOutputs * 4;
    INKSTONE_INLINE static Lanes load(const std::byte* step, std::size_t group, std::size_t product) {
        const std::byte* words = step + group * 64;
        return product == 0 ? widen_low(words) : widen_high(words);
    }
};
struct HalfWeights : Cuts {
    using Many = ManyHalves;  // dear to widen
    static constexpr std::size_t kElements = 1, kProducts = 1, kStepBytes = tensor::kTileOutputs * 2;
    INKSTONE_INLINE static Lanes load(const std::byte* step, std::size_t group, std::size_t) {
        return widen_half(step + group * 32);
    }
};

using Tile = inkstone::INKSTONE_ISA::LinearTile<FloatArithmetic>;

}  // namespace

void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row, std::size_t first_tile,
         std::size_t end_tile) {
    switch (arguments.weight.format) {
        case tensor::WeightFormat::f32:
            Tile::run<FloatWeights>(arguments, first_row, end_row, first_tile, end_tile);
            break;
        case tensor::WeightFormat::bf16:
            Tile::run<BfloatWeights>(arguments, first_row, end_row, first_tile, end_tile);
            break;
        case tensor::WeightFormat::f16:
            Tile::run<HalfWeights>(arguments, first_row, end_row, first_tile, end_tile);
            break;
        case tensor::WeightFormat::q8:
        case tensor::WeightFormat::q4:
            break;  // ops/linear_int8
    }
}

}  // namespace inkstone::ops::linear::INKSTONE_ISA
