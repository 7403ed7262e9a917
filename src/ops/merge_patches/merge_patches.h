// MergePatches: lays the merge x merge patches of a cell side by side, as input of the strided convolution that merges
// them: y[cell, (dy * merge + dx) * width + c] = x[patch(cell_y * merge + dy, cell_x * merge + dx), c]. Cells and
// patches are row-major. Copying: one form serves all.
#pragma once

#include <cstddef>

namespace inkstone::ops::merge_patches {

struct Arguments {
    const float* x = nullptr;  // [grid_height * grid_width, width]
    float* y = nullptr;        // [grid_height / merge * grid_width / merge, merge * merge * width]
    std::size_t grid_height = 0, grid_width = 0, width = 0, merge = 2;  // both grid sides are multiples of merge
};

// Cells [first_cell, end_cell). Disjoint ranges may run at once.
void run(const Arguments& arguments, std::size_t first_cell, std::size_t end_cell);

}  // namespace inkstone::ops::merge_patches
