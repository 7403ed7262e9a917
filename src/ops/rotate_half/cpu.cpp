// Kernel of rotate_half, compiled once per instruction set; the backend picks one at run time.
#include "base/simd/elementwise.h"
#include "ops/rotate_half/rotate_half.h"

namespace inkstone::ops::rotate_half::INKSTONE_ISA {

using inkstone::INKSTONE_ISA::for_each_lanes;
using inkstone::INKSTONE_ISA::Lanes;

void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row) {
    const std::size_t head_dim = arguments.head_dim, half = head_dim / 2;
    for (std::size_t r = first_row; r < end_row; ++r) {
        const float* cosine = arguments.cosine + r * head_dim;
        const float* sine = arguments.sine + r * head_dim;
        for (std::size_t h = 0; h < arguments.heads; ++h) {
            const float* x = arguments.x + (r * arguments.heads + h) * head_dim;
            float* y = arguments.y + (r * arguments.heads + h) * head_dim;
            for_each_lanes(
                0, half, [&](auto access) __attribute__((always_inline)) {
                    const Lanes first = access.load(x), second = access.load(x + half);
                    access.store(y, fma(first, access.load(cosine), -second * access.load(sine)));
                    access.store(y + half, fma(second, access.load(cosine + half), first * access.load(sine + half)));
                });
        }
    }
}

}  // namespace inkstone::ops::rotate_half::INKSTONE_ISA
