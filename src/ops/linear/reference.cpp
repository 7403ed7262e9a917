// What linear means, in plain loops over the packed matrix. Tests compare every kernel with it.
#include <cmath>
#include <vector>

#include "ops/linear/linear.h"

namespace inkstone::ops::linear {

void reference(const Arguments& arguments) {
    const tensor::PackedMatrix& weight = arguments.weight;
    std::vector<float> weights(weight.inputs);
    for (std::size_t n = 0; n < weight.outputs; ++n) {
        tensor::unpack_row(weight, n, weights.data());
        for (std::size_t r = 0; r < arguments.rows; ++r) {
            const float* x = arguments.x + r * arguments.x_stride;
            float sum = 0.0f;
            for (std::size_t k = 0; k < weight.inputs; ++k) sum = std::fma(weights[k], x[k], sum);
            arguments.y[r * arguments.y_stride + n] = arguments.bias ? sum + arguments.bias[n] : sum;
        }
    }
}

}  // namespace inkstone::ops::linear
