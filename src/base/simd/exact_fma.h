// a * b + c rounded once, for processors without a fused multiply-add instruction: the portable kernels' fma.
// The product of two floats is exact in double. The sum is taken in double together with its exact error (Knuth's
// two-sum); an inexact sum is moved to its odd neighbour on the side of the error ("rounding to odd"), which keeps
// enough of the truth for the final rounding to float to be right: Boldo and Melquiond, "Emulation of FMA and correctly
// rounded sums: proved algorithms using rounding to odd", 2008. Double needs at least 24 + 2 bits for that; it has 53.
#pragma once

#ifndef INKSTONE_INLINE
#define INKSTONE_INLINE [[gnu::always_inline]] inline
#endif

namespace inkstone::portable {

using Quad [[gnu::vector_size(16)]] = float;
using IntQuad [[gnu::vector_size(16)]] = int;
using UnsignedQuad [[gnu::vector_size(16)]] = unsigned;
using FloatPair [[gnu::vector_size(8)]] = float;
using DoublePair [[gnu::vector_size(16)]] = double;
using LongPair [[gnu::vector_size(16)]] = long long;
using UnsignedLongPair [[gnu::vector_size(16)]] = unsigned long long;

// product + addend, rounded to odd.
INKSTONE_INLINE DoublePair add_to_odd(DoublePair product, DoublePair addend) {
    const DoublePair sum = product + addend;
    const DoublePair addend_part = sum - product;
    const DoublePair error = (product - (sum - addend_part)) + (addend - addend_part);
    const auto sum_bits = reinterpret_cast<UnsignedLongPair>(sum);
    const auto error_bits = reinterpret_cast<UnsignedLongPair>(error);
    // +1 moves away from zero, where the error has the sum's sign; -1 (all ones) moves towards zero.
    const UnsignedLongPair step = 1 - (((sum_bits ^ error_bits) >> 63) << 1);
    const UnsignedLongPair is_even = (sum_bits & 1) - 1;
    // Neither comparison holds for the NaN error of an infinite sum.
    const LongPair is_inexact = (error > 0.0) | (error < 0.0);
    return reinterpret_cast<DoublePair>(sum_bits + (step & is_even & reinterpret_cast<UnsignedLongPair>(is_inexact)));
}

INKSTONE_INLINE Quad exact_fma(Quad a, Quad b, Quad c) {
#if defined(__FP_FAST_FMAF)
    Quad result;
    for (int i = 0; i < 4; ++i) result[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return result;
#else
    const auto low = [](Quad q) __attribute__((always_inline)) {
        return __builtin_convertvector(__builtin_shufflevector(q, q, 0, 1), DoublePair);
    };
    const auto high = [](Quad q) __attribute__((always_inline)) {
        return __builtin_convertvector(__builtin_shufflevector(q, q, 2, 3), DoublePair);
    };
    const FloatPair first = __builtin_convertvector(add_to_odd(low(a) * low(b), low(c)), FloatPair);
    const FloatPair second = __builtin_convertvector(add_to_odd(high(a) * high(b), high(c)), FloatPair);
    return __builtin_shufflevector(first, second, 0, 1, 2, 3);
#endif
}

}  // namespace inkstone::portable
