// What quantising rows means, in plain loops. Tests compare every kernel with it.
#include <cmath>
#include <cstring>
#include <limits>

#include "ops/quantise_rows/quantise_rows.h"

namespace inkstone::ops::quantise_rows {

void reference(const Arguments& arguments) {
    const tensor::QuantisedRow& row = arguments.row;
    for (std::size_t r = 0; r < arguments.rows; ++r) {
        std::byte* y = arguments.y + r * arguments.y_stride;
        std::memset(y, 0, row.bytes());
        for (std::size_t g = 0; g < row.groups(); ++g) {
            const std::size_t first = g * row.group;
            const std::size_t end = row.group == 0 || row.inputs - first < row.group ? row.inputs : first + row.group;
            const float* x = arguments.x + r * arguments.x_stride;
            float most = 0;
            bool finite = true;
            for (std::size_t i = first; i < end; ++i) {
                finite = finite && std::isfinite(x[i]);
                if (std::abs(x[i]) > most) most = std::abs(x[i]);
            }
            float scale = 0;
            std::int32_t sum = 0;
            if (!finite) {
                scale = std::numeric_limits<float>::quiet_NaN();
            } else if (most >= kLeast) {
                scale = most / 127.0f;
                const float inverse = 127.0f / most;
                for (std::size_t i = first; i < end; ++i) {
                    const auto code = static_cast<std::int8_t>(std::nearbyint(x[i] * inverse));
                    std::memcpy(y + i, &code, sizeof code);
                    sum += code;
                }
            }
            const std::int32_t offset = -128 * sum;
            std::memcpy(y + row.scales_at() + g * sizeof scale, &scale, sizeof scale);
            std::memcpy(y + row.offsets_at() + g * sizeof offset, &offset, sizeof offset);
        }
    }
}

}  // namespace inkstone::ops::quantise_rows
