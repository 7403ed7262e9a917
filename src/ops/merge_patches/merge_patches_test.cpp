// MergePatches: every element stands where the formula of the header puts it, for cells taken in parts.
#include "ops/merge_patches/merge_patches.h"

#include <gtest/gtest.h>

#include <vector>

namespace inkstone::ops::merge_patches {
namespace {

TEST(MergePatches, LaysTheCellsPatchesSideBySide) {
    constexpr std::size_t kWidth = 3;
    for (const std::size_t merge : {1, 2, 3}) {
        const std::size_t height = 2 * merge, columns = 4 * merge, cells = 8;
        std::vector<float> x(height * columns * kWidth);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
        std::vector<float> y(x.size(), -1.0f);
        const Arguments arguments{.x = x.data(),
                                  .y = y.data(),
                                  .grid_height = height,
                                  .grid_width = columns,
                                  .width = kWidth,
                                  .merge = merge};
        run(arguments, 0, 3);
        run(arguments, 3, cells);
        for (std::size_t cell = 0; cell < cells; ++cell) {
            for (std::size_t dy = 0; dy < merge; ++dy) {
                for (std::size_t dx = 0; dx < merge; ++dx) {
                    for (std::size_t c = 0; c < kWidth; ++c) {
                        const std::size_t patch = (cell / 4 * merge + dy) * columns + cell % 4 * merge + dx;
                        ASSERT_EQ(y[((cell * merge + dy) * merge + dx) * kWidth + c], x[patch * kWidth + c])
                            << "merge " << merge << ", cell " << cell << ", dy " << dy << ", dx " << dx;
                    }
                }
            }
        }
    }
}

}  // namespace
}  // namespace inkstone::ops::merge_patches
