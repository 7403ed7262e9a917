// rotary_table: angles from the right axis, position and frequency; rows can be computed in pieces.
#include "ops/rotary_table/rotary_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace inkstone::ops::rotary_table {
namespace {

TEST(RotaryTable, TurnsEachElementByItsAxis) {
    constexpr std::size_t kRows = 3, kHeadDim = 8, kStride = 5;  // two axes, five positions apart
    const std::int32_t positions[2 * kStride] = {0, 7, 1 << 24, -1, -1, 3, 100000, 2, -1, -1};
    const std::uint8_t axis[kHeadDim] = {0, 1, 1, 0, 1, 0, 0, 1};
    const float frequency[kHeadDim / 2] = {1.0f, 0.1f, 0.01f, 0.001f};
    std::vector<float> cosine(kRows * kHeadDim), sine(kRows * kHeadDim);
    const Arguments arguments{positions, axis, frequency, cosine.data(), sine.data(), kRows, kHeadDim, kStride};
    run(arguments, 0, 1);
    run(arguments, 1, 3);
    for (std::size_t r = 0; r < kRows; ++r)
        for (std::size_t j = 0; j < kHeadDim; ++j) {
            const float angle = static_cast<float>(positions[axis[j] * kStride + r]) * frequency[j % (kHeadDim / 2)];
            EXPECT_NEAR(cosine[r * kHeadDim + j], std::cos(static_cast<double>(angle)), 6e-8) << r << ' ' << j;
            EXPECT_NEAR(sine[r * kHeadDim + j], std::sin(static_cast<double>(angle)), 6e-8) << r << ' ' << j;
        }
}

}  // namespace
}  // namespace inkstone::ops::rotary_table
