// Kernels of quantising rows, compiled once per instruction set; the backend picks one at run time. Loops over vectors
// of the compiler's own type, as wide as one register. Magnitudes are compared as integers, which orders infinities and
// NaN above all numbers; rounding is by adding 1.5 * 2^23, whose last bits are then the code.
#include "base/simd/lanes.h"
#include "ops/quantise_rows/quantise_rows.h"

namespace inkstone::ops::quantise_rows::INKSTONE_ISA {
namespace {

#if defined(INKSTONE_ISA_avx512)
constexpr std::size_t kCount = 16;
#elif defined(INKSTONE_ISA_avx2)
constexpr std::size_t kCount = 8;
#else
constexpr std::size_t kCount = 4;
#endif
using Floats [[gnu::vector_size(kCount * 4)]] = float;
using Words [[gnu::vector_size(kCount * 4)]] = std::int32_t;
using Bytes [[gnu::vector_size(kCount)]] = std::int8_t;

constexpr float kRounding = 12582912.0f;
constexpr std::int32_t kRoundingBits = 0x4b400000, kInfinityBits = 0x7f800000;

// Calls work(vector, position, how many of it) over floats, the last vector filled up with zeros.
template <class Work>
INKSTONE_INLINE void each_vector(const float* x, std::size_t count, Work work) {
    std::size_t i = 0;
    for (; i + kCount <= count; i += kCount) {
        Floats vector;
        __builtin_memcpy(&vector, x + i, sizeof vector);
        work(vector, i, kCount);
    }
    if (i == count) return;
    Floats vector = {};
    for (std::size_t j = 0; i + j < count; ++j) vector[j] = x[i + j];
    work(vector, i, count - i);
}

void quantise_group(const float* x, std::size_t count, std::byte* codes, std::byte* scale_at, std::byte* offset_at) {
    Words most = {};
    each_vector(
        x, count, [&](Floats vector, std::size_t, std::size_t) __attribute__((always_inline)) {
            const Words magnitude = reinterpret_cast<Words>(vector) & 0x7fffffff;
            most = magnitude > most ? magnitude : most;
        });
    std::int32_t most_bits = 0;
    for (std::size_t j = 0; j < kCount; ++j) most_bits = most[j] > most_bits ? most[j] : most_bits;
    float largest;
    __builtin_memcpy(&largest, &most_bits, sizeof largest);

    float scale = 0;
    std::int32_t offset = 0;
    if (most_bits >= kInfinityBits || largest < kLeast) {
        if (most_bits >= kInfinityBits) scale = __builtin_nanf("");
        __builtin_memset(codes, 0, count);
    } else {
        scale = largest / 127.0f;
        const float inverse = 127.0f / largest;
        Words sums = {};
        each_vector(
            x, count, [&](Floats vector, std::size_t i, std::size_t n) __attribute__((always_inline)) {
                const Floats shifted = vector * inverse + kRounding;
                const Words code = reinterpret_cast<Words>(shifted) - kRoundingBits;
                sums += code;
                const Bytes bytes = __builtin_convertvector(code, Bytes);
                if (n == kCount)
                    __builtin_memcpy(codes + i, &bytes, sizeof bytes);
                else
                    __builtin_memcpy(codes + i, &bytes, n);
            });
        std::int32_t sum = 0;
        for (std::size_t j = 0; j < kCount; ++j) sum += sums[j];
        offset = -128 * sum;
    }
    __builtin_memcpy(scale_at, &scale, sizeof scale);
    __builtin_memcpy(offset_at, &offset, sizeof offset);
}

}  // namespace

void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row) {
    const tensor::QuantisedRow row = arguments.row;
    const std::size_t inputs = row.inputs, step = row.group == 0 ? inputs : row.group, groups = row.groups();
    const std::size_t scales_at = row.scales_at(), offsets_at = row.offsets_at();
    for (std::size_t r = first_row; r < end_row; ++r) {
        const float* x = arguments.x + r * arguments.x_stride;
        std::byte* y = arguments.y + r * arguments.y_stride;
        for (std::size_t g = 0; g < groups; ++g) {
            const std::size_t first = g * step, left = inputs - first;
            quantise_group(x + first, left < step ? left : step, y + first, y + scales_at + g * 4,
                           y + offsets_at + g * 4);
        }
        __builtin_memset(y + inputs, 0, scales_at - inputs);
        __builtin_memset(y + offsets_at + groups * 4, 0, row.bytes() - offsets_at - groups * 4);
    }
}

}  // namespace inkstone::ops::quantise_rows::INKSTONE_ISA
