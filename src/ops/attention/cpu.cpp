// Attention in lanes: written once, compiled for every instruction set. The walk through the blocks is that of
// base/simd/attention_tile.h; here are the products of floats.
#include <cstddef>
#include <cstdint>

#include "base/elementary.h"
#include "base/simd/attention_tile.h"
#include "base/simd/lanes.h"
#include "ops/attention/attention.h"

namespace inkstone::ops::attention::INKSTONE_ISA {
namespace {

using inkstone::INKSTONE_ISA::Lanes;
using inkstone::INKSTONE_ISA::Mask;

// Eight lanes, for a head_dim that ends in the middle of sixteen (72: a tenth of the products with values). A register
// of AVX-512 takes sixteen in the same time.
#if defined(INKSTONE_ISA_avx512)
constexpr bool kHasHalves = false;
using HalfLanes = Lanes;
#elif defined(INKSTONE_ISA_avx2)
constexpr bool kHasHalves = true;
struct HalfLanes {
    static constexpr std::size_t kCount = 8;
    __m256 v;
    INKSTONE_INLINE static HalfLanes of(float x) { return {_mm256_set1_ps(x)}; }
    INKSTONE_INLINE static HalfLanes load(const float* p) { return {_mm256_loadu_ps(p)}; }
    INKSTONE_INLINE void store(float* p) const { _mm256_storeu_ps(p, v); }
};
INKSTONE_INLINE HalfLanes fma(HalfLanes a, HalfLanes b, HalfLanes c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
INKSTONE_INLINE HalfLanes select(Mask mask, HalfLanes a, HalfLanes b) { return {_mm256_blendv_ps(b.v, a.v, mask.low)}; }
#else
constexpr bool kHasHalves = true;
struct HalfLanes {
    static constexpr std::size_t kCount = 8;
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
};
INKSTONE_INLINE HalfLanes fma(HalfLanes a, HalfLanes b, HalfLanes c) {
    return {inkstone::portable::exact_fma(a.low, b.low, c.low), inkstone::portable::exact_fma(a.high, b.high, c.high)};
}
INKSTONE_INLINE HalfLanes select(Mask mask, HalfLanes a, HalfLanes b) {
    return {inkstone::portable::select(mask.quads[0], a.low, b.low),
            inkstone::portable::select(mask.quads[1], a.high, b.high)};
}
#endif

struct FloatArithmetic {
    using Element = float;
    using Half = HalfLanes;
    static constexpr std::size_t kStep = 1, kPositions = tensor::kBlockPositions, kHeadDim = kMaximumHeadDim;
    static constexpr float kSlack = attention::kSlack;
    static constexpr bool kHalves = kHasHalves;

    template <class Vector, std::size_t kLines, std::size_t kColumns>
    INKSTONE_INLINE static void multiply(const std::byte* words, const float* x, std::size_t stride,
                                         Vector (&sum)[kLines][kColumns]) {
        const auto* floats = reinterpret_cast<const float*>(words);
        Vector column[kColumns];
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kColumns; ++c) column[c] = Vector::load(floats + c * Vector::kCount);
#pragma GCC unroll 8
        for (std::size_t l = 0; l < kLines; ++l) {
            const Vector factor = Vector::of(x[l * stride]);
#pragma GCC unroll 4
            for (std::size_t c = 0; c < kColumns; ++c) sum[l][c] = fma(column[c], factor, sum[l][c]);
        }
    }

    template <class Vector, std::size_t kLines, std::size_t kColumns>
    INKSTONE_INLINE static void multiply_edge(const std::byte* words, const float* x, std::size_t stride, std::size_t i,
                                              const std::uint32_t* count, Vector (&sum)[kLines][kColumns]) {
        const auto* floats = reinterpret_cast<const float*>(words);
        const Lanes position = Lanes::of(static_cast<float>(i));
#pragma GCC unroll 8
        for (std::size_t l = 0; l < kLines; ++l) {
            const Mask sees = less(position, Lanes::of(static_cast<float>(count[l])));
            const Vector factor = Vector::of(x[l * stride]);
#pragma GCC unroll 4
            for (std::size_t c = 0; c < kColumns; ++c) {
                const Vector next = fma(Vector::load(floats + c * Vector::kCount), factor, sum[l][c]);
                sum[l][c] = select(sees, next, sum[l][c]);
            }
        }
    }

    INKSTONE_INLINE static Lanes exponential(Lanes x) { return exp2(x); }
    INKSTONE_INLINE static Lanes correction(Lanes x) { return exp2(x); }
    INKSTONE_INLINE static Lanes quotient(Lanes output, Lanes total) { return output / total; }

    template <std::size_t kCount>
    INKSTONE_INLINE static void store_weights(const Lanes (&weight)[kCount], float* at, float* sum_at) {
        Lanes sum = Lanes::load(sum_at);
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kCount; ++c) {
            weight[c].store(at + c * Lanes::kCount);
            sum = sum + weight[c];
        }
        sum.store(sum_at);
    }

    INKSTONE_INLINE static void load_query(const float* q, std::size_t head_dim, float scale, float* elements) {
        for (std::size_t d = 0; d < head_dim; d += Lanes::kCount) {
            const std::size_t count = head_dim - d < Lanes::kCount ? head_dim - d : Lanes::kCount;
            (Lanes::load_first(q + d, count) * Lanes::of(scale)).store(elements + d);
        }
    }
};

}  // namespace

void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row, std::size_t first_kv_head,
         std::size_t end_kv_head) {
    inkstone::INKSTONE_ISA::AttentionTile<FloatArithmetic>::run(arguments, first_row, end_row, first_kv_head,
                                                                end_kv_head);
}

}  // namespace inkstone::ops::attention::INKSTONE_ISA
