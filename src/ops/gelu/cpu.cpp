// Kernel of gelu, compiled once per instruction set; the backend picks one at run time.
#include "base/elementary.h"
#include "base/simd/elementwise.h"
#include "ops/gelu/gelu.h"

namespace inkstone::ops::gelu::INKSTONE_ISA {

using inkstone::INKSTONE_ISA::Lanes;

void run(const Arguments& arguments, std::size_t first, std::size_t end) {
    constexpr float kInverseSquareRootOfTwo = 0.707106781f;
    inkstone::INKSTONE_ISA::for_each_lanes(
        first, end, [&](auto access) __attribute__((always_inline)) {
            const Lanes x = access.load(arguments.x);
            const Lanes error_function = erf(x * Lanes::of(kInverseSquareRootOfTwo));
            access.store(arguments.y, (Lanes::of(0.5f) * x) * (Lanes::of(1.0f) + error_function));
        });
}

}  // namespace inkstone::ops::gelu::INKSTONE_ISA
