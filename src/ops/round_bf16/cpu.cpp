// Kernels of rounding to BF16, compiled once per instruction set; the backend picks one at run time. A loop over
// vectors of the compiler's own type, as wide as one register: the compiler turns it into the instruction set's integer
// operations. vcvtneps2bf16 would be shorter, but flushes denormal numbers; memory is the limit.
#include "base/simd/lanes.h"
#include "ops/round_bf16/round_bf16.h"

namespace inkstone::ops::round_bf16::INKSTONE_ISA {
namespace {

#if defined(INKSTONE_ISA_avx512) || defined(INKSTONE_ISA_avx512_bf16)
constexpr std::size_t kCount = 16;
#elif defined(INKSTONE_ISA_avx2)
constexpr std::size_t kCount = 8;
#else
constexpr std::size_t kCount = 4;
#endif
using Words [[gnu::vector_size(kCount * 4)]] = std::uint32_t;
using Halves [[gnu::vector_size(kCount * 2)]] = std::uint16_t;

INKSTONE_INLINE Halves round_bits(Words bits) {
    const Words odd = bits >> 16 & 1u;
    const Words nearest = (bits + 0x7fffu + odd) >> 16;
    const Words quiet = bits >> 16 | 0x40u;
    const auto is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
    return __builtin_convertvector(is_nan ? quiet : nearest, Halves);
}

INKSTONE_INLINE Halves round_floats(const float* x) {
    Words bits;
    __builtin_memcpy(&bits, x, sizeof bits);
    return round_bits(bits);
}

}  // namespace

void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row) {
    const std::size_t width = arguments.width, whole = width / kCount * kCount, padded = padded_width(width);
    for (std::size_t r = first_row; r < end_row; ++r) {
        const float* x = arguments.x + r * arguments.x_stride;
        std::uint16_t* y = arguments.y + r * arguments.y_stride;
        for (std::size_t i = 0; i < whole; i += kCount) {
            const Halves halves = round_floats(x + i);
            __builtin_memcpy(y + i, &halves, sizeof halves);
        }
        if (whole == padded) continue;
        // The tail and the padding: the rest of a vector of zeros.
        float tail[kCount] = {};
        __builtin_memcpy(tail, x + whole, (width - whole) * sizeof(float));
        const Halves halves = round_floats(tail);
        __builtin_memcpy(y + whole, &halves, (padded - whole) * sizeof(std::uint16_t));
    }
}

}  // namespace inkstone::ops::round_bf16::INKSTONE_ISA
