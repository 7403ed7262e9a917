// Kernel of layer_norm, compiled once per instruction set; the backend picks one at run time.
#include "base/simd/elementwise.h"
#include "ops/layer_norm/layer_norm.h"

namespace inkstone::ops::layer_norm::INKSTONE_ISA {

using inkstone::INKSTONE_ISA::for_each_lanes;
using inkstone::INKSTONE_ISA::Lanes;

void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row) {
    const std::size_t width = arguments.width;
    for (std::size_t r = first_row; r < end_row; ++r) {
        const float* x = arguments.x + r * width;
        float* y = arguments.y + r * width;
        // Lanes beyond the tail load +0, which leaves a sum as it is.
        Lanes sums = Lanes::zero();
        for_each_lanes(
            0, width, [&](auto access) __attribute__((always_inline)) { sums = sums + access.load(x); });
        const Lanes mean = Lanes::of(fold(sums) / static_cast<float>(width));
        Lanes squares = Lanes::zero();
        for_each_lanes(
            0, width, [&](auto access) __attribute__((always_inline)) {
                const Lanes deviation = access.keep(access.load(x) - mean);
                squares = fma(deviation, deviation, squares);
            });
        const float variance = fold(squares) / static_cast<float>(width);
        const Lanes scale = Lanes::of(1.0f / __builtin_sqrtf(variance + arguments.epsilon));
        for_each_lanes(
            0, width, [&](auto access) __attribute__((always_inline)) {
                const Lanes normal = (access.load(x) - mean) * scale;
                access.store(y, fma(normal, access.load(arguments.weight), access.load(arguments.bias)));
            });
    }
}

}  // namespace inkstone::ops::layer_norm::INKSTONE_ISA
