// What layer_norm means, in plain loops. Tests compare every kernel with it.
#include <cmath>

#include "base/reduce.h"
#include "ops/layer_norm/layer_norm.h"

namespace inkstone::ops::layer_norm {

void reference(const Arguments& arguments) {
    const std::size_t width = arguments.width;
    for (std::size_t r = 0; r < arguments.rows; ++r) {
        const float* x = arguments.x + r * width;
        float* y = arguments.y + r * width;
        float sums[kReductionLanes] = {};
        for (std::size_t i = 0; i < width; ++i) sums[i % kReductionLanes] += x[i];
        const float mean = fold(sums) / static_cast<float>(width);
        float squares[kReductionLanes] = {};
        for (std::size_t i = 0; i < width; ++i) {
            const float deviation = x[i] - mean;
            float& lane = squares[i % kReductionLanes];
            lane = std::fma(deviation, deviation, lane);
        }
        const float variance = fold(squares) / static_cast<float>(width);
        const float scale = 1.0f / std::sqrt(variance + arguments.epsilon);
        for (std::size_t i = 0; i < width; ++i)
            y[i] = std::fma((x[i] - mean) * scale, arguments.weight[i], arguments.bias[i]);
    }
}

}  // namespace inkstone::ops::layer_norm
