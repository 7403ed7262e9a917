// What rms_norm means, in plain loops. Tests compare every kernel with it.
#include <cmath>

#include "base/reduce.h"
#include "ops/rms_norm/rms_norm.h"

namespace inkstone::ops::rms_norm {

void reference(const Arguments& arguments) {
    const std::size_t width = arguments.width;
    for (std::size_t r = 0; r < arguments.rows; ++r) {
        const float* x = arguments.x + r * width;
        float* y = arguments.y + r * width;
        float squares[kReductionLanes] = {};
        for (std::size_t i = 0; i < width; ++i) {
            float& lane = squares[i % kReductionLanes];
            lane = std::fma(x[i], x[i], lane);
        }
        const float mean = fold(squares) / static_cast<float>(width);
        const float scale = 1.0f / std::sqrt(mean + arguments.epsilon);
        for (std::size_t i = 0; i < width; ++i) y[i] = (x[i] * scale) * arguments.weight[i];
    }
}

}  // namespace inkstone::ops::rms_norm
