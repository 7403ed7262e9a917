// Scalar conversions between float and the two 16-bit types, in bits: widening is exact, narrowing rounds to the
// nearest, ties to even; a NaN stays a NaN, made quiet, with the top of its payload. These are the meaning of the
// vector forms: bit for bit what the F16C instructions do.
// Always inlined: a shared out-of-line copy compiled for one instruction set could be linked into another.
#pragma once

#include <bit>
#include <cstdint>

namespace inkstone::tensor {

[[gnu::always_inline]] constexpr float float_from_bf16(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

[[gnu::always_inline]] constexpr std::uint16_t bf16_from_float(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x0040U);
    const std::uint32_t odd = (bits >> 16) & 1U;
    return static_cast<std::uint16_t>((bits + 0x7FFFU + odd) >> 16);
}

[[gnu::always_inline]] constexpr float float_from_f16(std::uint16_t bits) {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1FU;
    const std::uint32_t mantissa = bits & 0x3FFU;
    if (exponent == 0x1FU) {
        const std::uint32_t quiet = mantissa != 0 ? 0x00400000U : 0U;
        return std::bit_cast<float>(sign | 0x7F800000U | quiet | (mantissa << 13));
    }
    // Subnormal: mantissa * 2^-24, a product of two floats without rounding.
    if (exponent == 0) {
        const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
        return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
    }
    return std::bit_cast<float>(sign | ((exponent + 112U) << 23) | (mantissa << 13));
}

[[gnu::always_inline]] constexpr std::uint16_t f16_from_float(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000U;
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U) return static_cast<std::uint16_t>(sign | 0x7E00U | ((magnitude >> 13) & 0x3FFU));
    // 65520 is half way between the largest finite value and the next step: from there on, infinity.
    if (magnitude >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00U);
    if (magnitude >= 0x38800000U) {  // at least 2^-14: normal
        const std::uint32_t odd = (magnitude >> 13) & 1U;
        return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000U + 0xFFFU + odd) >> 13));
    }
    if (magnitude <= 0x33000000U) return static_cast<std::uint16_t>(sign);  // at most 2^-25: half a step, to even zero
    // Subnormal: the mantissa with its leading one, shifted so that one unit is 2^-24.
    const std::uint32_t shift = 126U - (magnitude >> 23);
    const std::uint32_t mantissa = (magnitude & 0x007FFFFFU) | 0x00800000U;
    const std::uint32_t kept = mantissa >> shift;
    const std::uint32_t dropped = mantissa & ((1U << shift) - 1U);
    const std::uint32_t half = 1U << (shift - 1U);
    const bool up = dropped > half || (dropped == half && (kept & 1U) != 0);
    return static_cast<std::uint16_t>(sign | (kept + (up ? 1U : 0U)));
}

}  // namespace inkstone::tensor
