// FrameRows on the CPU.
#include "ops/frame_rows/frame_rows.h"

#include <cstring>

namespace inkstone::ops::frame_rows {

void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row) {
    const std::size_t width = arguments.width;
    for (std::size_t row = first_row; row < end_row; ++row) {
        const float* from = row == 0                    ? arguments.begin
                            : row == arguments.rows + 1 ? arguments.end
                                                        : arguments.x + (row - 1) * width;
        std::memcpy(arguments.y + row * width, from, width * sizeof(float));
    }
}

}  // namespace inkstone::ops::frame_rows
