// What gelu means, in plain loops. Tests compare every kernel with it.
#include "base/elementary.h"
#include "ops/gelu/gelu.h"

namespace inkstone::ops::gelu {

void reference(const Arguments& arguments) {
    constexpr float kInverseSquareRootOfTwo = 0.707106781f;
    for (std::size_t i = 0; i < arguments.count; ++i) {
        const float x = arguments.x[i];
        arguments.y[i] = (0.5f * x) * (1.0f + erf(x * kInverseSquareRootOfTwo));
    }
}

}  // namespace inkstone::ops::gelu
