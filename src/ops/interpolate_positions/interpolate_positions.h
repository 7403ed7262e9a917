// InterpolatePositions: adds a square table of position embeddings, bilinearly resized to the patch grid, to the
// patches. Formula: torch.nn.functional.interpolate(mode="bilinear", align_corners=False) on a channels-last tensor,
// with the roundings of its vectorised CPU form (fma is one rounding):
//   source = max(fma(i + 0.5, float(edge) / grid, -0.5), 0), per side; i0 = int(source), i1 = min(i0 + 1, edge - 1)
//   l1 = source - i0, l0 = 1 - l1: v for the vertical side, h for the horizontal side
//   value = (v1 * h0) * t[i1, j0]; then fma((v1 * h1), t[i1, j1], value), fma((v0 * h1), t[i0, j1], value),
//   fma((v0 * h0), t[i0, j0], value);   y = x + value
// One form serves all, with fma as a library call: 13 ns per element, far below a hundredth of the vision encoder.
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
