// FrameRows: puts one row before and one after: [rows, width] -> [rows + 2, width], the begin and end tokens of an
// image. Copying: one form serves all.
#pragma once

#include <cstddef>

namespace inkstone::ops::frame_rows {

struct Arguments {
    const float* x = nullptr;      // [rows, width]
    const float* begin = nullptr;  // [width]
    const float* end = nullptr;    // [width]
    float* y = nullptr;            // [rows + 2, width]
    std::size_t rows = 0, width = 0;
};

// Rows [first_row, end_row) of y. Disjoint ranges may run at once.
void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row);

}  // namespace inkstone::ops::frame_rows
