// What rounding to BF16 means, in plain loops. Tests compare every kernel with it.
#include "ops/round_bf16/round_bf16.h"
#include "tensor/half.h"

namespace inkstone::ops::round_bf16 {

void reference(const Arguments& arguments) {
    for (std::size_t r = 0; r < arguments.rows; ++r) {
        const float* x = arguments.x + r * arguments.x_stride;
        std::uint16_t* y = arguments.y + r * arguments.y_stride;
        for (std::size_t i = 0; i < arguments.width; ++i) y[i] = tensor::bf16_from_float(x[i]);
        if (arguments.width % 2 != 0) y[arguments.width] = 0;
    }
}

}  // namespace inkstone::ops::round_bf16
