// Kernel of rms_norm, compiled once per instruction set; the backend picks one at run time.
#include "base/simd/elementwise.h"
#include "ops/rms_norm/rms_norm.h"

namespace inkstone::ops::rms_norm::INKSTONE_ISA {

using inkstone::INKSTONE_ISA::for_each_lanes;
using inkstone::INKSTONE_ISA::Lanes;

void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row) {
    const std::size_t width = arguments.width;
    for (std::size_t r = first_row; r < end_row; ++r) {
        const float* x = arguments.x + r * width;
        float* y = arguments.y + r * width;
        Lanes squares = Lanes::zero();
        // Lanes beyond the tail load +0, whose square leaves a sum as it is.
        for_each_lanes(
            0, width, [&](auto access) __attribute__((always_inline)) {
                const Lanes value = access.load(x);
                squares = fma(value, value, squares);
            });
        const float mean = fold(squares) / static_cast<float>(width);
        const Lanes scale = Lanes::of(1.0f / __builtin_sqrtf(mean + arguments.epsilon));
        for_each_lanes(
            0, width, [&](auto access) __attribute__((always_inline)) {
                access.store(y, (access.load(x) * scale) * access.load(arguments.weight));
            });
    }
}

}  // namespace inkstone::ops::rms_norm::INKSTONE_ISA
