// Lanes for AVX-512 (F, BW, DQ, VL): one register of sixteen floats. Included by base/simd/lanes.h, which says what
// each operation means.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace inkstone::INKSTONE_ISA {

struct Mask {
    __mmask16 bits;
};

struct Lanes {
    static constexpr std::size_t kCount = 16;
    __m512 v;

    INKSTONE_INLINE static Lanes zero() { return {_mm512_setzero_ps()}; }
    INKSTONE_INLINE static Lanes of(float x) { return {_mm512_set1_ps(x)}; }
    INKSTONE_INLINE static Lanes load(const float* p) { return {_mm512_loadu_ps(p)}; }
    INKSTONE_INLINE static __mmask16 first(std::size_t count) { return static_cast<__mmask16>((1u << count) - 1u); }
    INKSTONE_INLINE static Lanes load_first(const float* p, std::size_t count) {
        return {_mm512_maskz_loadu_ps(first(count), p)};
    }
    INKSTONE_INLINE void store(float* p) const { _mm512_storeu_ps(p, v); }
    INKSTONE_INLINE void store_first(float* p, std::size_t count) const { _mm512_mask_storeu_ps(p, first(count), v); }
    INKSTONE_INLINE Lanes keep_first(std::size_t count) const { return {_mm512_maskz_mov_ps(first(count), v)}; }
};

// Where the plain intrinsic leaves its pass-through operand undefined (and gcc 12 warns about that), the zero-masking
// form with all lanes on is used: the compiler emits the same instruction.
constexpr __mmask16 kAllLanes = 0xffff;

INKSTONE_INLINE Lanes operator+(Lanes a, Lanes b) { return {_mm512_add_ps(a.v, b.v)}; }
INKSTONE_INLINE Lanes operator-(Lanes a, Lanes b) { return {_mm512_sub_ps(a.v, b.v)}; }
INKSTONE_INLINE Lanes operator*(Lanes a, Lanes b) { return {_mm512_mul_ps(a.v, b.v)}; }
INKSTONE_INLINE Lanes operator/(Lanes a, Lanes b) { return {_mm512_div_ps(a.v, b.v)}; }
INKSTONE_INLINE Lanes operator-(Lanes a) { return {_mm512_maskz_xor_ps(kAllLanes, a.v, _mm512_set1_ps(-0.0f))}; }
INKSTONE_INLINE Lanes fma(Lanes a, Lanes b, Lanes c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
INKSTONE_INLINE Lanes max(Lanes a, Lanes b) { return {_mm512_maskz_max_ps(kAllLanes, a.v, b.v)}; }
INKSTONE_INLINE Lanes min(Lanes a, Lanes b) { return {_mm512_maskz_min_ps(kAllLanes, a.v, b.v)}; }
INKSTONE_INLINE Mask less(Lanes a, Lanes b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)}; }
INKSTONE_INLINE Lanes select(Mask mask, Lanes a, Lanes b) { return {_mm512_mask_blend_ps(mask.bits, b.v, a.v)}; }
INKSTONE_INLINE Lanes abs(Lanes a) { return {_mm512_maskz_andnot_ps(kAllLanes, _mm512_set1_ps(-0.0f), a.v)}; }
INKSTONE_INLINE Lanes copy_sign(Lanes a, Lanes b) {
    const __m512 sign = _mm512_set1_ps(-0.0f);
    return {_mm512_maskz_or_ps(kAllLanes, _mm512_maskz_andnot_ps(kAllLanes, sign, a.v),
                               _mm512_maskz_and_ps(kAllLanes, sign, b.v))};
}
template <int kBits>
INKSTONE_INLINE Lanes shift_bits_left(Lanes a) {
    return {_mm512_castsi512_ps(_mm512_maskz_slli_epi32(kAllLanes, _mm512_castps_si512(a.v), kBits))};
}
INKSTONE_INLINE Lanes upper_halves(Lanes a) {
    const __m512 upper = _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(0xffff0000u)));
    return {_mm512_maskz_and_ps(kAllLanes, a.v, upper)};
}

template <int kHalf>
INKSTONE_INLINE __m256 half(Lanes a) {
    return _mm512_maskz_extractf32x8_ps(0xff, a.v, kHalf);
}
INKSTONE_INLINE float fold(Lanes a) {
    const __m256 eight = _mm256_add_ps(half<0>(a), half<1>(a));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
INKSTONE_INLINE float fold_max(Lanes a) {
    const __m256 eight = _mm256_max_ps(half<0>(a), half<1>(a));
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

INKSTONE_INLINE bool any(Mask mask) { return mask.bits != 0; }
INKSTONE_INLINE Lanes round_to_bf16(Lanes a) {
    const __m512i bits = _mm512_castps_si512(a.v);
    const __m512i odd = _mm512_and_si512(_mm512_maskz_srli_epi32(kAllLanes, bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x00400000));
    const __mmask16 is_nan = _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q);
    return {_mm512_castsi512_ps(_mm512_and_si512(_mm512_mask_blend_epi32(is_nan, rounded, quiet),
                                                 _mm512_set1_epi32(static_cast<int>(0xffff0000u))))};
}

INKSTONE_INLINE Lanes widen_low(const std::byte* p) {
    return {_mm512_castsi512_ps(_mm512_maskz_slli_epi32(kAllLanes, _mm512_loadu_si512(p), 16))};
}
INKSTONE_INLINE Lanes widen_high(const std::byte* p) {
    return {
        _mm512_castsi512_ps(_mm512_and_si512(_mm512_loadu_si512(p), _mm512_set1_epi32(static_cast<int>(0xffff0000u))))};
}
INKSTONE_INLINE Lanes widen_half(const std::byte* p) {
    return {_mm512_maskz_cvtph_ps(kAllLanes, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}

}  // namespace inkstone::INKSTONE_ISA
