// InterpolatePositions on the CPU.
#include "ops/interpolate_positions/interpolate_positions.h"

#include <algorithm>
#include <cmath>

namespace inkstone::ops::interpolate_positions {
namespace {

// Where one coordinate of the grid falls on one side of the table.
struct Source {
    std::size_t index0, index1;
    float weight0, weight1;
};

Source source_of(std::size_t coordinate, std::size_t grid, std::size_t edge) {
    const float scale = static_cast<float>(edge) / static_cast<float>(grid);
    const float position = std::max(std::fma(static_cast<float>(coordinate) + 0.5f, scale, -0.5f), 0.0f);
    const std::size_t index0 = std::min(static_cast<std::size_t>(position), edge - 1);
    const float weight1 = position - static_cast<float>(index0);
    return {index0, std::min(index0 + 1, edge - 1), 1.0f - weight1, weight1};
}

}  // namespace

void run(const Arguments& arguments, std::size_t first_patch, std::size_t end_patch) {
    const std::size_t edge = arguments.edge, width = arguments.width;
    for (std::size_t patch = first_patch; patch < end_patch; ++patch) {
        const Source v = source_of(patch / arguments.grid_width, arguments.grid_height, edge);
        const Source h = source_of(patch % arguments.grid_width, arguments.grid_width, edge);
        const float* top_left = arguments.table + (v.index0 * edge + h.index0) * width;
        const float* top_right = arguments.table + (v.index0 * edge + h.index1) * width;
        const float* bottom_left = arguments.table + (v.index1 * edge + h.index0) * width;
        const float* bottom_right = arguments.table + (v.index1 * edge + h.index1) * width;
        const float* x = arguments.x + patch * width;
        float* y = arguments.y + patch * width;
        const float bottom_left_weight = v.weight1 * h.weight0, bottom_right_weight = v.weight1 * h.weight1;
        const float top_left_weight = v.weight0 * h.weight0, top_right_weight = v.weight0 * h.weight1;
        for (std::size_t i = 0; i < width; ++i) {
            float value = bottom_left_weight * bottom_left[i];
            value = std::fma(bottom_right_weight, bottom_right[i], value);
            value = std::fma(top_right_weight, top_right[i], value);
            value = std::fma(top_left_weight, top_left[i], value);
            y[i] = x[i] + value;
        }
    }
}

}  // namespace inkstone::ops::interpolate_positions
