// What multiply means: a product per element, in plain loops. Tests compare every kernel with it.
#include "ops/multiply/multiply.h"

namespace inkstone::ops::multiply {

void reference(const Arguments& arguments) {
    for (std::size_t i = 0; i < arguments.count; ++i) arguments.y[i] = arguments.a[i] * arguments.b[i];
}

}  // namespace inkstone::ops::multiply
