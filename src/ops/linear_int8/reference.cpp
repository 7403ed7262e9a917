// What linear in integer arithmetic means, in plain loops over the packed matrix. Tests compare every kernel with it.
#include <cmath>
#include <cstring>

#include "ops/linear_int8/linear_int8.h"
#include "tensor/quantised_matrix.h"

namespace inkstone::ops::linear_int8 {

void reference(const Arguments& arguments) {
    const tensor::PackedMatrix& weight = arguments.weight;
    const tensor::QuantisedRow row{weight.inputs, weight.quantisation.group};
    const std::int32_t unit = weight.format == tensor::WeightFormat::q4 ? 16 : 1;
    for (std::size_t n = 0; n < weight.outputs; ++n)
        for (std::size_t r = 0; r < arguments.rows; ++r) {
            const std::byte* x = arguments.x + r * arguments.x_stride;
            float sum = 0.0f;
            for (std::size_t g = 0; g < row.groups(); ++g) {
                const std::size_t first = g * row.group;
                std::int32_t total = 0;
                for (std::size_t k = first; k < first + weight.quantisation.size(g, weight.inputs); ++k)
                    total += unit * tensor::code_of(weight, n, k) * static_cast<std::int8_t>(x[k]);
                float scale;
                std::memcpy(&scale, x + row.scales_at() + g * sizeof scale, sizeof scale);
                const float weight_scale = tensor::scale_of(weight, n, g) / static_cast<float>(unit);
                sum = std::fma(static_cast<float>(total), weight_scale * scale, sum);
            }
            if (arguments.bias != nullptr) sum += arguments.bias[n];
            arguments.y[r * arguments.y_stride + n] = sum;
        }
}

}  // namespace inkstone::ops::linear_int8
