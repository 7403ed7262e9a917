// What linear in BF16 arithmetic means, in plain loops over the packed matrix. Tests compare every kernel with it.
#include <vector>

#include "base/flushed_fma.h"
#include "ops/linear_bf16/linear_bf16.h"
#include "tensor/half.h"

namespace inkstone::ops::linear_bf16 {

void reference(const Arguments& arguments) {
    const tensor::PackedMatrix& weight = arguments.weight;
    std::vector<float> w(weight.packed_inputs(), 0.0f), x(weight.packed_inputs());
    for (std::size_t n = 0; n < weight.outputs; ++n) {
        tensor::unpack_row(weight, n, w.data());
        for (std::size_t r = 0; r < arguments.rows; ++r) {
            for (std::size_t k = 0; k < x.size(); ++k)
                x[k] = tensor::float_from_bf16(arguments.x[r * arguments.x_stride + k]);
            float sum = 0.0f;
            for (std::size_t k = 0; k < x.size(); k += 2) {
                sum = flushed_fma(w[k + 1], x[k + 1], sum);
                sum = flushed_fma(w[k], x[k], sum);
            }
            if (arguments.bias != nullptr) sum = flush_denormal(sum + flush_denormal(arguments.bias[n]));
            arguments.y[r * arguments.y_stride + n] = sum;
        }
    }
}

}  // namespace inkstone::ops::linear_bf16
