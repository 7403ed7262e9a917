// Elementary functions of the engine: exp2, exp, sigmoid, tanh, erf, and sine with cosine. One polynomial each, written
// once as a template over a lane type: float for reference loops, the Lanes of base/simd/lanes.h for kernels. They use
// nothing but correctly rounded operations in a fixed order, so the same argument gives the same bits everywhere; the
// C library's own functions differ between its versions and processors.
//
// Error bounds in units in the last place (ulp), found by dense sweeps against double (base/elementary_test.cpp):
//   exp2 1 (exp2_short far more, see there);  exp 1.2;  sigmoid 2.4;  tanh 1.4;  erf 1.3;  sin_cos 0.51
// NaN gives NaN. The coefficients are near-minimax: least squares on 4000 Chebyshev nodes, reweighted until the error
// is level (Lawson), weighted for relative error of the function, then rounded to float.
#pragma once

#include <cstdint>

#ifndef INKSTONE_INLINE
#define INKSTONE_INLINE [[gnu::always_inline]] inline
#endif

namespace inkstone {

// One float with the operations of base/simd/lanes.h that the functions below use.
struct Scalar {
    float value;
    INKSTONE_INLINE static Scalar of(float x) { return {x}; }
};
INKSTONE_INLINE Scalar operator+(Scalar a, Scalar b) { return {a.value + b.value}; }
INKSTONE_INLINE Scalar operator-(Scalar a, Scalar b) { return {a.value - b.value}; }
INKSTONE_INLINE Scalar operator*(Scalar a, Scalar b) { return {a.value * b.value}; }
INKSTONE_INLINE Scalar operator/(Scalar a, Scalar b) { return {a.value / b.value}; }
INKSTONE_INLINE Scalar operator-(Scalar a) { return {-a.value}; }
INKSTONE_INLINE Scalar fma(Scalar a, Scalar b, Scalar c) { return {__builtin_fmaf(a.value, b.value, c.value)}; }
INKSTONE_INLINE Scalar max(Scalar a, Scalar b) { return a.value > b.value ? a : b; }
INKSTONE_INLINE Scalar min(Scalar a, Scalar b) { return a.value < b.value ? a : b; }
INKSTONE_INLINE bool less(Scalar a, Scalar b) { return a.value < b.value; }
INKSTONE_INLINE Scalar select(bool mask, Scalar a, Scalar b) { return mask ? a : b; }
INKSTONE_INLINE Scalar abs(Scalar a) { return {__builtin_fabsf(a.value)}; }
INKSTONE_INLINE Scalar copy_sign(Scalar a, Scalar b) { return {__builtin_copysignf(a.value, b.value)}; }
template <int kBits>
INKSTONE_INLINE Scalar shift_bits_left(Scalar a) {
    return {__builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, a.value) << kBits)};
}

// c0 + c1 x + c2 x^2 + ..., innermost term first (Horner).
template <class L>
INKSTONE_INLINE L polynomial(L, float c0) {
    return L::of(c0);
}
template <class L, class... Rest>
INKSTONE_INLINE L polynomial(L x, float c0, Rest... rest) {
    return fma(polynomial(x, rest...), x, L::of(c0));
}

// Adding 1.5 * 2^23 rounds a number below 2^22 to an integer, which then stands in the low mantissa bits; the 127 more
// is the exponent bias of float, so that those bits shifted to the exponent field are 2^integer.
constexpr float kExponentShifter = 0x1.8p23f + 127.0f;

// 2^fraction * 2^n for |fraction| <= 0.5 (and a hair), where shifted = kExponentShifter + n, n in -127 .. 128. The two
// ends give the factors 0 and infinity.
template <class L>
INKSTONE_INLINE L exp2_parts(L fraction, L shifted) {
    const L mantissa = polynomial(fraction, 1.0f, 0.693147182f, 0.240226477f, 0.0555033237f, 0.00961843692f,
                                  0.0013398875f, 0.00015353362f);
    return mantissa * shift_bits_left<23>(shifted);
}

// 2^x. Exactly 1 for 0. Infinity from 127.5 on (float would reach to 128); denormal results below -126, 0 below -126.5
// and for -infinity.
template <class L>
INKSTONE_INLINE L exp2(L x) {
    const L bounded = max(L::of(-127.0f), min(L::of(128.0f), x));
    const L shifted = bounded + L::of(kExponentShifter);
    return exp2_parts(bounded - (shifted - L::of(kExponentShifter)), shifted);
}

// 2^x for x <= 0, with a relative error below 7.6e-5 (2^-13.7): for a result that is then rounded to bfloat16, whose
// steps are 2^-8. From -125 down it is that of -125, so that no result is denormal. 0 gives 0.999928, which rounds
// to 1.
template <class L>
INKSTONE_INLINE L exp2_short(L x) {
    const L bounded = max(L::of(-125.0f), x);
    const L shifted = bounded + L::of(kExponentShifter);
    const L fraction = bounded - (shifted - L::of(kExponentShifter));
    return polynomial(fraction, 0.99992806f, 0.69326097f, 0.24261113f, 0.05517167f) * shift_bits_left<23>(shifted);
}

// e^x. Exactly 1 for 0. Infinity from 88.37 on (float would reach to 88.72), 0 below -87.68 and for -infinity.
template <class L>
INKSTONE_INLINE L exp(L x) {
    constexpr float kLog2E = 1.44269502f, kLog2ERest = 1.92596303e-08f;  // log2(e) in two floats
    const L bounded = max(L::of(-88.02f), min(L::of(88.72f), x));
    const L shifted = fma(bounded, L::of(kLog2E), L::of(kExponentShifter));
    const L fraction = fma(bounded, L::of(kLog2E), L::of(kExponentShifter) - shifted);
    return exp2_parts(fma(bounded, L::of(kLog2ERest), fraction), shifted);
}

// 1 / (1 + e^-x).
template <class L>
INKSTONE_INLINE L sigmoid(L x) {
    return L::of(1.0f) / (L::of(1.0f) + exp(-x));
}

// Hyperbolic tangent: an odd polynomial below 0.625, from e^2|x| beyond.
template <class L>
INKSTONE_INLINE L tanh(L x) {
    const L magnitude = abs(x);
    const L square = x * x;
    const L cubic =
        square * polynomial(square, -0.333332807f, 0.133314416f, -0.0537397154f, 0.020639088f, -0.00570498733f);
    const L near_zero = fma(magnitude, cubic, magnitude);
    const L far = L::of(1.0f) - L::of(2.0f) / (exp(magnitude + magnitude) + L::of(1.0f));
    return copy_sign(select(less(magnitude, L::of(0.625f)), near_zero, far), x);
}

// Error function: x + x p(x^2) below 0.9; beyond, 1 - 2^q(|x|) where q approximates log2(erfc), which is 1 from 4 on.
template <class L>
INKSTONE_INLINE L erf(L x) {
    const L square = x * x;
    const L near_zero = fma(
        x,
        polynomial(square, 0.128379151f, -0.376125246f, 0.112821408f, -0.026778914f, 0.00501196971f, -0.000609039038f),
        x);
    const L magnitude = min(L::of(4.0f), abs(x));
    const L log_complement = polynomial(magnitude, -0.000240132489f, -1.62706745f, -0.91896224f, -0.150204301f,
                                        0.0321940519f, -0.00442256872f, 0.000285970629f);
    const L far = L::of(1.0f) - exp2(log_complement);
    return select(less(magnitude, L::of(0.9f)), near_zero, copy_sign(far, x));
}

// The same functions of one float.
INKSTONE_INLINE float exp2(float x) { return exp2(Scalar{x}).value; }
INKSTONE_INLINE float exp2_short(float x) { return exp2_short(Scalar{x}).value; }
INKSTONE_INLINE float exp(float x) { return exp(Scalar{x}).value; }
INKSTONE_INLINE float sigmoid(float x) { return sigmoid(Scalar{x}).value; }
INKSTONE_INLINE float tanh(float x) { return tanh(Scalar{x}).value; }
INKSTONE_INLINE float erf(float x) { return erf(Scalar{x}).value; }

struct SineCosine {
    float sine, cosine;
};

// Sine and cosine of an angle in radians, |angle| <= 2^24; NaN for both beyond and for NaN. Computed in double:
// pi/2 in three parts, of which the first two hold 29 bits each, so that their products with up to 24 bits of quadrant
// number are exact (Cody and Waite 1980).
INKSTONE_INLINE SineCosine sin_cos(float angle) {
    if (!(__builtin_fabsf(angle) <= 0x1p24f)) return {__builtin_nanf(""), __builtin_nanf("")};
    constexpr double kTwoOverPi = 0.6366197723675814;
    constexpr double kHalfPiHigh = 0x1.921fb54p+0, kHalfPiMiddle = 0x1.10b4611p-30, kHalfPiLow = 0x1.4c4c6628b80dcp-59;
    constexpr double kRound = 0x1.8p52;  // adding and subtracting it rounds to an integer
    const double quadrant = (angle * kTwoOverPi + kRound) - kRound;
    const double r = ((angle - quadrant * kHalfPiHigh) - quadrant * kHalfPiMiddle) - quadrant * kHalfPiLow;
    const double z = r * r;
    const double sine_tail =
        (((-2.4760397665567549e-08 * z + 2.7555338880857691e-06) * z - 0.00019841263725030919) * z +
         0.0083333333250713171) *
            z -
        0.16666666666630284;
    const double cosine_tail =
        (((2.0644957080949867e-09 * z - 2.7555520440246525e-07) * z + 2.4801580691668004e-05) * z -
         0.0013888888877574264) *
            z +
        0.041666666666596242;
    const double sine = r + r * z * sine_tail;
    const double cosine = 1.0 - 0.5 * z + z * z * cosine_tail;
    const auto turn = static_cast<std::uint32_t>(static_cast<std::int32_t>(quadrant)) & 3u;
    const double turned_sine = turn % 2 == 0 ? sine : cosine;
    const double turned_cosine = turn % 2 == 0 ? cosine : sine;
    return {static_cast<float>(turn >= 2 ? -turned_sine : turned_sine),
            static_cast<float>(turn == 1 || turn == 2 ? -turned_cosine : turned_cosine)};
}

}  // namespace inkstone
