// Dot products of bytes for kernels (src/ops/linear_int8): sixteen outputs side by side, of each a word of four
// unsigned weights, times one word of four signed inputs, added to sixteen 32-bit sums. One instruction with AVX-512
// VNNI; elsewhere bytes are widened to 16 bits and multiplied in pairs (vpmaddubsw would saturate); portable code
// multiplies 32-bit numbers. All are exact, so they are equal. Included by cpu.cpp, once per instruction set. What each
// part defines:
//   Raw, load_raw(p)             64 bytes of weights
//   low_nibbles, high_nibbles    the nibbles of a Raw in the upper halves of its bytes
//   Weights, weights_of(raw)     made ready for products
//   Inputs, inputs_at(p)         four inputs for every output
//   Sums, begin(x)               x in every sum
//   accumulate(sums, w, x)       the products added
//   lanes_of(sums)               as floats, rounded to the nearest
//   begin_small(x)               x in every sum, which will stay within 2^22 in the end
//   lanes_of_small(sums)         as floats, exactly. Such sums are the mantissa of 1.5 * 2^23: a subtraction, for which
//                                processors have units that multiplications leave idle, instead of a conversion
#pragma once

#include "base/simd/lanes.h"

namespace inkstone::INKSTONE_ISA {

INKSTONE_INLINE std::int32_t word_at(const std::byte* p) {
    std::int32_t word;
    __builtin_memcpy(&word, p, sizeof word);
    return word;
}

constexpr float kShift = 12582912.0f;  // 1.5 * 2^23, and its bits
constexpr std::int32_t kShiftBits = 0x4b400000;

#if defined(INKSTONE_ISA_avx512) || defined(INKSTONE_ISA_avx512_vnni)

using Raw = __m512i;
struct Sums {
    __m512i v;
};
INKSTONE_INLINE Raw load_raw(const std::byte* p) { return _mm512_loadu_si512(p); }
INKSTONE_INLINE Raw high_nibbles(Raw raw) { return _mm512_and_si512(raw, _mm512_set1_epi8(static_cast<char>(0xf0))); }
INKSTONE_INLINE Raw low_nibbles(Raw raw) { return high_nibbles(_mm512_maskz_slli_epi32(kAllLanes, raw, 4)); }
INKSTONE_INLINE Sums begin(std::int32_t x) { return {_mm512_set1_epi32(x)}; }
INKSTONE_INLINE Lanes lanes_of(Sums sums) { return {_mm512_maskz_cvtepi32_ps(kAllLanes, sums.v)}; }
INKSTONE_INLINE Sums begin_small(std::int32_t x) {
    return {_mm512_add_epi32(_mm512_set1_epi32(x), _mm512_set1_epi32(kShiftBits))};
}
INKSTONE_INLINE Lanes bits_of(Sums sums) { return {_mm512_castsi512_ps(sums.v)}; }

#if defined(INKSTONE_ISA_avx512_vnni)
struct Weights {
    __m512i v;
};
struct Inputs {
    __m512i v;
};
INKSTONE_INLINE Weights weights_of(Raw raw) { return {raw}; }
INKSTONE_INLINE Inputs inputs_at(const std::byte* p) { return {_mm512_set1_epi32(word_at(p))}; }
INKSTONE_INLINE void accumulate(Sums& sums, Weights weights, Inputs inputs) {
    // Not the intrinsic: the compiler copies its accumulators about.
    asm("vpdpbusd %2, %1, %0" : "+v"(sums.v) : "v"(weights.v), "v"(inputs.v));
}
#else
struct Weights {
    __m512i even, odd;
};
struct Inputs {
    __m512i even, odd;
};
INKSTONE_INLINE Weights weights_of(Raw raw) {
    return {_mm512_and_si512(raw, _mm512_set1_epi16(0xff)), _mm512_srli_epi16(raw, 8)};
}
INKSTONE_INLINE Inputs inputs_at(const std::byte* p) {
    const __m512i word = _mm512_set1_epi32(word_at(p));
    return {_mm512_srai_epi16(_mm512_slli_epi16(word, 8), 8), _mm512_srai_epi16(word, 8)};
}
INKSTONE_INLINE void accumulate(Sums& sums, Weights weights, Inputs inputs) {
    sums.v = _mm512_add_epi32(sums.v, _mm512_madd_epi16(weights.even, inputs.even));
    sums.v = _mm512_add_epi32(sums.v, _mm512_madd_epi16(weights.odd, inputs.odd));
}
#endif

#elif defined(INKSTONE_ISA_avx2)

struct Raw {
    __m256i low, high;
};
struct Sums {
    __m256i low, high;
};
struct Weights {
    Raw even, odd;
};
struct Inputs {
    __m256i even, odd;
};
INKSTONE_INLINE Raw load_raw(const std::byte* p) {
    const auto* words = reinterpret_cast<const __m256i*>(p);
    return {_mm256_loadu_si256(words), _mm256_loadu_si256(words + 1)};
}
INKSTONE_INLINE Raw high_nibbles(Raw raw) {
    const __m256i upper = _mm256_set1_epi8(static_cast<char>(0xf0));
    return {_mm256_and_si256(raw.low, upper), _mm256_and_si256(raw.high, upper)};
}
INKSTONE_INLINE Raw low_nibbles(Raw raw) {
    return high_nibbles({_mm256_slli_epi32(raw.low, 4), _mm256_slli_epi32(raw.high, 4)});
}
INKSTONE_INLINE Weights weights_of(Raw raw) {
    const __m256i lower = _mm256_set1_epi16(0xff);
    return {{_mm256_and_si256(raw.low, lower), _mm256_and_si256(raw.high, lower)},
            {_mm256_srli_epi16(raw.low, 8), _mm256_srli_epi16(raw.high, 8)}};
}
INKSTONE_INLINE Inputs inputs_at(const std::byte* p) {
    const __m256i word = _mm256_set1_epi32(word_at(p));
    return {_mm256_srai_epi16(_mm256_slli_epi16(word, 8), 8), _mm256_srai_epi16(word, 8)};
}
INKSTONE_INLINE Sums begin(std::int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
INKSTONE_INLINE void accumulate(Sums& sums, Weights weights, Inputs inputs) {
    sums.low = _mm256_add_epi32(sums.low, _mm256_madd_epi16(weights.even.low, inputs.even));
    sums.high = _mm256_add_epi32(sums.high, _mm256_madd_epi16(weights.even.high, inputs.even));
    sums.low = _mm256_add_epi32(sums.low, _mm256_madd_epi16(weights.odd.low, inputs.odd));
    sums.high = _mm256_add_epi32(sums.high, _mm256_madd_epi16(weights.odd.high, inputs.odd));
}
INKSTONE_INLINE Lanes lanes_of(Sums sums) { return {_mm256_cvtepi32_ps(sums.low), _mm256_cvtepi32_ps(sums.high)}; }
INKSTONE_INLINE Sums begin_small(std::int32_t x) { return begin(x + kShiftBits); }
INKSTONE_INLINE Lanes bits_of(Sums sums) { return {_mm256_castsi256_ps(sums.low), _mm256_castsi256_ps(sums.high)}; }

#else

using WordQuad [[gnu::vector_size(16)]] = std::int32_t;
struct Raw {
    WordQuad quads[4];
};
struct Sums {
    WordQuad quads[4];
};
using Weights = Raw;
struct Inputs {
    std::int32_t inputs[4];
};
INKSTONE_INLINE Raw load_raw(const std::byte* p) {
    Raw raw;
    __builtin_memcpy(&raw, p, sizeof raw);
    return raw;
}
INKSTONE_INLINE Raw high_nibbles(Raw raw) {
    for (WordQuad& quad : raw.quads) quad &= static_cast<std::int32_t>(0xf0f0f0f0u);
    return raw;
}
INKSTONE_INLINE Raw low_nibbles(Raw raw) {
    for (WordQuad& quad : raw.quads) quad <<= 4;
    return high_nibbles(raw);
}
INKSTONE_INLINE Weights weights_of(Raw raw) { return raw; }
INKSTONE_INLINE Inputs inputs_at(const std::byte* p) {
    Inputs inputs;
    for (std::size_t j = 0; j < 4; ++j) inputs.inputs[j] = static_cast<std::int8_t>(p[j]);
    return inputs;
}
INKSTONE_INLINE Sums begin(std::int32_t x) {
    const WordQuad quad = {x, x, x, x};
    return {{quad, quad, quad, quad}};
}
INKSTONE_INLINE void accumulate(Sums& sums, Weights weights, Inputs inputs) {
    for (std::size_t i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sums.quads[i] += (weights.quads[i] >> 8 * j & 0xff) * inputs.inputs[j];
}
INKSTONE_INLINE Lanes lanes_of(Sums sums) {
    Lanes lanes;
    for (std::size_t i = 0; i < 4; ++i)
        lanes.quads[i] = __builtin_convertvector(sums.quads[i], decltype(lanes.quads[0] + lanes.quads[0]));
    return lanes;
}
INKSTONE_INLINE Sums begin_small(std::int32_t x) { return begin(x + kShiftBits); }
INKSTONE_INLINE Lanes bits_of(Sums sums) {
    Lanes lanes;
    __builtin_memcpy(&lanes, &sums, sizeof lanes);
    return lanes;
}

#endif

INKSTONE_INLINE Lanes lanes_of_small(Sums sums) { return bits_of(sums) - Lanes::of(kShift); }

}  // namespace inkstone::INKSTONE_ISA
