// Lanes for AVX2 with FMA and F16C: two registers of eight floats. Included by base/simd/lanes.h, which says what each
// operation means.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace inkstone::avx2 {

struct Mask {
    __m256 low, high;
};

struct Lanes {
    static constexpr std::size_t kCount = 16;
    __m256 low, high;

    INKSTONE_INLINE static Lanes zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
    INKSTONE_INLINE static Lanes of(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
    INKSTONE_INLINE static Lanes load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
    // Lanes below count, as the sign bits that masked loads and stores look at.
    INKSTONE_INLINE static __m256i first_low(std::size_t count) {
        return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                                  _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    }
    INKSTONE_INLINE static __m256i first_high(std::size_t count) {
        return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                                  _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15));
    }
    INKSTONE_INLINE static Lanes load_first(const float* p, std::size_t count) {
        return {_mm256_maskload_ps(p, first_low(count)), _mm256_maskload_ps(p + 8, first_high(count))};
    }
    INKSTONE_INLINE void store(float* p) const {
        _mm256_storeu_ps(p, low);
        _mm256_storeu_ps(p + 8, high);
    }
    INKSTONE_INLINE void store_first(float* p, std::size_t count) const {
        _mm256_maskstore_ps(p, first_low(count), low);
        _mm256_maskstore_ps(p + 8, first_high(count), high);
    }
    INKSTONE_INLINE Lanes keep_first(std::size_t count) const {
        return {_mm256_and_ps(low, _mm256_castsi256_ps(first_low(count))),
                _mm256_and_ps(high, _mm256_castsi256_ps(first_high(count)))};
    }
};

INKSTONE_INLINE Lanes operator+(Lanes a, Lanes b) {
    return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
}
INKSTONE_INLINE Lanes operator-(Lanes a, Lanes b) {
    return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
}
INKSTONE_INLINE Lanes operator*(Lanes a, Lanes b) {
    return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
}
INKSTONE_INLINE Lanes operator/(Lanes a, Lanes b) {
    return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
}
INKSTONE_INLINE Lanes operator-(Lanes a) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return {_mm256_xor_ps(a.low, sign), _mm256_xor_ps(a.high, sign)};
}
INKSTONE_INLINE Lanes fma(Lanes a, Lanes b, Lanes c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
INKSTONE_INLINE Lanes max(Lanes a, Lanes b) { return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)}; }
INKSTONE_INLINE Lanes min(Lanes a, Lanes b) { return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)}; }
INKSTONE_INLINE Mask less(Lanes a, Lanes b) {
    return {_mm256_cmp_ps(a.low, b.low, _CMP_LT_OQ), _mm256_cmp_ps(a.high, b.high, _CMP_LT_OQ)};
}
INKSTONE_INLINE Lanes select(Mask mask, Lanes a, Lanes b) {
    return {_mm256_blendv_ps(b.low, a.low, mask.low), _mm256_blendv_ps(b.high, a.high, mask.high)};
}
INKSTONE_INLINE Lanes abs(Lanes a) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return {_mm256_andnot_ps(sign, a.low), _mm256_andnot_ps(sign, a.high)};
}
INKSTONE_INLINE Lanes copy_sign(Lanes a, Lanes b) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return {_mm256_or_ps(_mm256_andnot_ps(sign, a.low), _mm256_and_ps(sign, b.low)),
            _mm256_or_ps(_mm256_andnot_ps(sign, a.high), _mm256_and_ps(sign, b.high))};
}
template <int kBits>
INKSTONE_INLINE Lanes shift_bits_left(Lanes a) {
    return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(a.low), kBits)),
            _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(a.high), kBits))};
}
INKSTONE_INLINE Lanes upper_halves(Lanes a) {
    const __m256 upper = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(0xffff0000u)));
    return {_mm256_and_ps(a.low, upper), _mm256_and_ps(a.high, upper)};
}

INKSTONE_INLINE float fold(Lanes a) {
    const __m256 eight = _mm256_add_ps(a.low, a.high);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
INKSTONE_INLINE float fold_max(Lanes a) {
    const __m256 eight = _mm256_max_ps(a.low, a.high);
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

INKSTONE_INLINE bool any(Mask mask) { return _mm256_movemask_ps(_mm256_or_ps(mask.low, mask.high)) != 0; }
INKSTONE_INLINE __m256 round_half_to_bf16(__m256 a) {
    const __m256i bits = _mm256_castps_si256(a);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x00400000));
    const __m256 either =
        _mm256_blendv_ps(_mm256_castsi256_ps(rounded), _mm256_castsi256_ps(quiet), _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
    return _mm256_and_ps(either, _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(0xffff0000u))));
}
INKSTONE_INLINE Lanes round_to_bf16(Lanes a) { return {round_half_to_bf16(a.low), round_half_to_bf16(a.high)}; }

INKSTONE_INLINE Lanes widen_low(const std::byte* p) {
    const auto* words = reinterpret_cast<const __m256i*>(p);
    return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_loadu_si256(words), 16)),
            _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_loadu_si256(words + 1), 16))};
}
INKSTONE_INLINE Lanes widen_high(const std::byte* p) {
    const auto* words = reinterpret_cast<const __m256i*>(p);
    const __m256i upper = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
    return {_mm256_castsi256_ps(_mm256_and_si256(_mm256_loadu_si256(words), upper)),
            _mm256_castsi256_ps(_mm256_and_si256(_mm256_loadu_si256(words + 1), upper))};
}
INKSTONE_INLINE Lanes widen_half(const std::byte* p) {
    const auto* halves = reinterpret_cast<const __m128i*>(p);
    return {_mm256_cvtph_ps(_mm_loadu_si128(halves)), _mm256_cvtph_ps(_mm_loadu_si128(halves + 1))};
}

}  // namespace inkstone::avx2
