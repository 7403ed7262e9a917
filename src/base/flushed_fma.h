// a * b + c as the processor's BF16 dot products take it: rounded once, to nearest even, with denormal numbers flushed
// to zero. Reference loops of operators in BF16 arithmetic use it; kernels get the same from vdpbf16ps, or from a fused
// multiply-add under FTZ and DAZ (base/simd/flush_denormals.h).
#pragma once

#include <cmath>
#include <limits>

namespace inkstone {

// Zero of the same sign for a denormal number, otherwise x.
inline float flush_denormal(float x) {
    const bool is_denormal = x != 0 && std::abs(x) < std::numeric_limits<float>::min();
    return is_denormal ? std::copysign(0.0f, x) : x;
}

// Denormal inputs count as zero, a denormal result becomes zero, signs are kept. As on x86, a result is denormal when
// it would be below 2^-126 if rounded to 24 bits with an unbounded exponent ("tininess after rounding").
inline float flushed_fma(float a, float b, float c) {
    a = flush_denormal(a);
    b = flush_denormal(b);
    c = flush_denormal(c);
    const float result = flush_denormal(std::fma(a, b, c));
    if (std::abs(result) != std::numeric_limits<float>::min()) return result;
    // The smallest normal number: denormal numbers are sparser than 24 bits, so a sum up to three quarters of a unit
    // below it was rounded to it, but only from half a unit on does it stay normal. The product is exact in double, and
    // so is the sum together with its error (Knuth's two-sum).
    const double product = static_cast<double>(a) * b, sum = product + c, addend = sum - product;
    const double error = (product - (sum - addend)) + (c - addend);
    constexpr double kStaysNormal = 0x1p-126 - 0x1p-151;
    const double magnitude = std::abs(sum), magnitude_error = sum < 0 ? -error : error;
    const bool is_tiny = magnitude < kStaysNormal || (magnitude == kStaysNormal && magnitude_error < 0);
    return is_tiny ? std::copysign(0.0f, result) : result;
}

}  // namespace inkstone
