// GatherRows: y[r] = x[index[r]]: the rows whose logits are wanted. Copying: one form serves all.
#pragma once

#include <cstddef>
#include <cstdint>

namespace inkstone::ops::gather_rows {

struct Arguments {
    const float* x = nullptr;              // [any, width]
    float* y = nullptr;                    // [rows, width]; must not overlap x
    const std::uint32_t* index = nullptr;  // [rows], rows of x
    std::size_t rows = 0, width = 0;
};

// Rows [first_row, end_row) of y. Disjoint ranges may run at once.
void run(const Arguments& arguments, std::size_t first_row, std::size_t end_row);

}  // namespace inkstone::ops::gather_rows
