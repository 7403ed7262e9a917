// What add means: a sum per element, in plain loops. Tests compare every kernel with it.
#include "ops/add/add.h"

namespace inkstone::ops::add {

void reference(const Arguments& arguments) {
    for (std::size_t i = 0; i < arguments.count; ++i) arguments.y[i] = arguments.a[i] + arguments.b[i];
}

}  // namespace inkstone::ops::add
