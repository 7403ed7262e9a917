// What silu means, in plain loops. Tests compare every kernel with it.
#include "base/elementary.h"
#include "ops/silu/silu.h"

namespace inkstone::ops::silu {

void reference(const Arguments& arguments) {
    for (std::size_t i = 0; i < arguments.count; ++i) {
        const float x = arguments.x[i];
        arguments.y[i] = x / (1.0f + exp(-x));
    }
}

}  // namespace inkstone::ops::silu
