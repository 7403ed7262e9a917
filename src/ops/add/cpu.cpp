// Kernel of add, compiled once per instruction set; the backend picks one at run time.
#include "base/simd/elementwise.h"
#include "ops/add/add.h"

namespace inkstone::ops::add::INKSTONE_ISA {

using inkstone::INKSTONE_ISA::Lanes;

void run(const Arguments& arguments, std::size_t first, std::size_t end) {
    inkstone::INKSTONE_ISA::for_each_lanes(
        first, end, [&](auto access) __attribute__((always_inline)) {
            const Lanes a = access.load(arguments.a);
            const Lanes b = access.load(arguments.b);
            access.store(arguments.y, a + b);
        });
}

}  // namespace inkstone::ops::add::INKSTONE_ISA
