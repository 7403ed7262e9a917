// Kernels of linear in BF16 arithmetic, compiled once per instruction set; the backend picks one at run time. The walk
// through the packed weights is that of base/simd/linear_tile.h; here are the products of pairs of bfloat16 numbers.
#include "base/simd/flush_denormals.h"
#include "base/simd/lanes.h"
#include "base/simd/linear_tile.h"
#include "ops/linear_bf16/linear_bf16.h"

#if !INKSTONE_FLUSHES_DENORMALS
#include "base/flushed_fma.h"
#endif

namespace inkstone::ops::linear_bf16::INKSTONE_ISA {
namespace {

using inkstone::INKSTONE_ISA::Lanes;
using inkstone::INKSTONE_ISA::LinearCut;

constexpr std::size_t kPairBytes = tensor::kTileOutputs * 4;  // of one pair of inputs in a tile

#if INKSTONE_FLUSHES_DENORMALS
// An element is a pair of inputs. Its products are one instruction on words of 32 bits, or two multiply-adds on their
// halves, the second input first.
struct PairArithmetic {
    static constexpr std::size_t kTileOutputs = tensor::kTileOutputs, kCachedBytes = 256 * 1024;

    INKSTONE_INLINE static std::size_t elements(const tensor::PackedMatrix& weight) {
        return weight.packed_inputs() / 2;
    }
    INKSTONE_INLINE static Lanes load_pair(const std::byte* pair) {
        float words;
        __builtin_memcpy(&words, pair, sizeof words);
        return Lanes::of(words);
    }
#if defined(INKSTONE_ISA_avx512_bf16)
    INKSTONE_INLINE static Lanes input(const std::byte* x, std::size_t) { return load_pair(x); }
    INKSTONE_INLINE static Lanes multiply_add(Lanes weights, Lanes inputs, Lanes sum) {
        const auto pairs = [](Lanes lanes) __attribute__((always_inline)) {
            return reinterpret_cast<__m512bh>(lanes.v);
        };
        return {_mm512_dpbf16_ps(sum.v, pairs(weights), pairs(inputs))};
    }
#else
    INKSTONE_INLINE static Lanes input(const std::byte* x, std::size_t product) {
        const Lanes words = load_pair(x);
        return product == 0 ? upper_halves(words) : inkstone::INKSTONE_ISA::shift_bits_left<16>(words);
    }
    INKSTONE_INLINE static Lanes multiply_add(Lanes weights, Lanes inputs, Lanes sum) {
        return fma(weights, inputs, sum);
    }
#endif
};

struct PairWeights {
    static constexpr std::size_t kElements = 1, kStepBytes = kPairBytes;
#if defined(INKSTONE_ISA_avx512_bf16)
    // 24 accumulators, 2 or 4 weights and an input of 32 registers. Measured on Zen 5: 4 groups read whole lines and
    // few inputs, and their weights may come from the second-level cache; while memory is the limit, short blocks and 2
    // groups spread the prefetching better.
    static constexpr std::size_t kStreamedRows = 6, kFewRows = 8, kSomeRows = 18;
    using Few = LinearCut<6, 4, 32>;
    using Some = LinearCut<12, 2, 64>;
    using Many = LinearCut<6, 4, 576>;

    static constexpr std::size_t kProducts = 1;
    INKSTONE_INLINE static Lanes load(const std::byte* step, std::size_t group, std::size_t) {
        return Lanes::load(reinterpret_cast<const float*>(step + group * 64));
    }
#else
#if defined(INKSTONE_ISA_avx512)
    // 24 accumulators, 2 weights, an input and a mask of 32 registers.
    using Many = LinearCut<12, 2, 128>;
#else
    // AVX2: 12 accumulators, 2 weights, an input and a mask of 16 registers.
    using Many = LinearCut<6, 1, 128>;
#endif
    static constexpr std::size_t kStreamedRows = 1, kFewRows = 1, kSomeRows = 1;
    using Few = Many;
    using Some = Many;

    static constexpr std::size_t kProducts = 2;
    INKSTONE_INLINE static Lanes load(const std::byte* step, std::size_t group, std::size_t product) {
        const std::byte* words = step + group * 64;
        return product == 0 ? inkstone::INKSTONE_ISA::widen_high(words) : inkstone::INKSTONE_ISA::widen_low(words);
    }
#endif
};
#endif

}  // namespace

void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row, std::size_t first_tile,
         std::size_t end_tile) {
#if INKSTONE_FLUSHES_DENORMALS
    const inkstone::INKSTONE_ISA::FlushDenormals flush;
    using Tile = inkstone::INKSTONE_ISA::LinearTile<PairArithmetic>;
    Tile::run<PairWeights>(arguments, first_row, end_row, first_tile, end_tile);
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
