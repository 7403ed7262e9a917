// Kernel of silu, compiled once per instruction set; the backend picks one at run time.
#include "base/elementary.h"
#include "base/simd/elementwise.h"
#include "ops/silu/silu.h"

namespace inkstone::ops::silu::INKSTONE_ISA {

using inkstone::INKSTONE_ISA::Lanes;

void run(const Arguments& arguments, std::size_t first, std::size_t end) {
    inkstone::INKSTONE_ISA::for_each_lanes(
        first, end, [&](auto access) __attribute__((always_inline)) {
            const Lanes x = access.load(arguments.x);
            access.store(arguments.y, x / (Lanes::of(1.0f) + exp(-x)));
        });
}

}  // namespace inkstone::ops::silu::INKSTONE_ISA
