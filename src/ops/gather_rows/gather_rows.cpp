// GatherRows on the CPU.
#include "ops/gather_rows/gather_rows.h"

#include <cstring>

namespace inkstone::ops::gather_rows {

void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row) {
    const std::size_t width = arguments.width;
    for (std::size_t row = first_row; row < end_row; ++row) {
        std::memcpy(arguments.y + row * width, arguments.x + arguments.index[row] * width, width * sizeof(float));
    }
}

}  // namespace inkstone::ops::gather_rows
