// MergePatches on the CPU.
#include "ops/merge_patches/merge_patches.h"

#include <cstring>

namespace inkstone::ops::merge_patches {

void run(const Arguments& arguments, std::size_t first_cell, std::size_t end_cell) {
    const std::size_t merge = arguments.merge, width = arguments.width;
    const std::size_t cells_per_row = arguments.grid_width / merge;
    // The patches of one row of a cell are neighbours in x and in y: one copy.
    const std::size_t strip = merge * width;
    for (std::size_t cell = first_cell; cell < end_cell; ++cell) {
        const std::size_t top = cell / cells_per_row * merge, left = cell % cells_per_row * merge;
        for (std::size_t dy = 0; dy < merge; ++dy) {
            const float* from = arguments.x + ((top + dy) * arguments.grid_width + left) * width;
            std::memcpy(arguments.y + (cell * merge + dy) * strip, from, strip * sizeof(float));
        }
    }
}

}  // namespace inkstone::ops::merge_patches
