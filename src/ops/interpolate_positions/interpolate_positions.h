// InterpolatePositions: adds a square table of position embeddings, bilinearly resized to the patch grid, to the
// patches. Formula: torch.nn.functional.interpolate(mode="bilinear", align_corners=False), in float:
//   source = max((i + 0.5) * (float(edge) / grid) - 0.5, 0), i0 = int(source), i1 = min(i0 + 1, edge - 1), l1 = source
//   - i0 y = x + (h0 * (w0 * t[h0, w0] + w1 * t[h0, w1]) + h1 * (w0 * t[h1, w0] + w1 * t[h1, w1])), each product and
//   sum rounded once. One form serves all (a few reads per patch).
#pragma once

#include <cstddef>

namespace inkstone::ops::interpolate_positions {

struct Arguments {
    const float* x = nullptr;      // [grid_height * grid_width, width]
    const float* table = nullptr;  // [edge * edge, width], row-major
    float* y = nullptr;            // [grid_height * grid_width, width], may be x
    std::size_t grid_height = 0, grid_width = 0, edge = 0, width = 0;
};

// Patches [first_patch, end_patch). Disjoint ranges may run at once.
void run(const Arguments& arguments, std::size_t first_patch, std::size_t end_patch);

}  // namespace inkstone::ops::interpolate_positions
