// The two 16-bit floating-point formats of checkpoints, widened to float; both conversions are exact.
#pragma once

#include <bit>
#include <cstdint>

namespace inkstone {

// bfloat16: the upper half of a float.
inline float float_from_bfloat16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

// IEEE 754 binary16. The exponent moves from bias 15 to bias 127 by a multiplication with 2^112, which makes subnormal
// halves normal; infinities and NaN take float's top exponent, NaN quiet as the processors' own conversion makes it.
inline float float_from_half(std::uint16_t bits) {
    const std::uint32_t magnitude = std::uint32_t{bits & 0x7fffu} << 13;
    const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
    if ((bits & 0x7c00u) == 0x7c00u) {
        const std::uint32_t quiet = (bits & 0x3ffu) != 0 ? 0x400000u : 0u;
        return std::bit_cast<float>(sign | magnitude | 0x7f800000u | quiet);
    }
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f));
}

}  // namespace inkstone
