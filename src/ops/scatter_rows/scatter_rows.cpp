// ScatterRows on the CPU.
#include "ops/scatter_rows/scatter_rows.h"

#include <cstring>

namespace inkstone::ops::scatter_rows {

void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row) {
    const std::size_t width = arguments.width;
    for (std::size_t row = first_row; row < end_row; ++row) {
        const float* own = arguments.x + row * width;
        const float* from = arguments.source[row] != nullptr ? arguments.source[row] : own;
        float* to = arguments.y + row * width;
        if (from != to) std::memcpy(to, from, width * sizeof(float));
    }
}

}  // namespace inkstone::ops::scatter_rows
