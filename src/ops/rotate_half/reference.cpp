// What rotate_half means, in plain loops. Tests compare every kernel with it.
#include <cmath>

#include "ops/rotate_half/rotate_half.h"

namespace inkstone::ops::rotate_half {

void reference(const Arguments& arguments) {
    const std::size_t head_dim = arguments.head_dim, half = head_dim / 2;
    for (std::size_t r = 0; r < arguments.rows; ++r) {
        const float* cosine = arguments.cosine + r * head_dim;
        const float* sine = arguments.sine + r * head_dim;
        for (std::size_t h = 0; h < arguments.heads; ++h) {
            const float* x = arguments.x + (r * arguments.heads + h) * head_dim;
            float* y = arguments.y + (r * arguments.heads + h) * head_dim;
            for (std::size_t i = 0; i < half; ++i) {
                const float first = x[i], second = x[i + half];
                y[i] = std::fma(first, cosine[i], -second * sine[i]);
                y[i + half] = std::fma(second, cosine[i + half], first * sine[i + half]);
            }
        }
    }
}

}  // namespace inkstone::ops::rotate_half
