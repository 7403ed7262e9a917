// ScatterRows: y[r] = source[r] if there is one (a pointer to a row computed elsewhere, a visual token), else x[r].
// Copying: one form serves all.
#pragma once

#include <cstddef>

namespace inkstone::ops::scatter_rows {

struct Arguments {
    const float* x = nullptr;              // [rows, width]
    const float* const* source = nullptr;  // [rows]: [width] each, or null
    float* y = nullptr;                    // [rows, width], may be x
    std::size_t rows = 0, width = 0;
};

// Rows [first_row, end_row). Disjoint ranges may run at once.
void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row);

}  // namespace inkstone::ops::scatter_rows
