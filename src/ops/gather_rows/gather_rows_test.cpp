// GatherRows: every row comes from where its index says, and no other row is written.
#include "ops/gather_rows/gather_rows.h"

#include <gtest/gtest.h>

#include <vector>

namespace inkstone::ops::gather_rows {
namespace {

TEST(GatherRows, TakesRowsByIndexInParts) {
    constexpr std::size_t kWidth = 5;
    std::vector<float> x(4 * kWidth);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    const std::vector<std::uint32_t> index = {3, 0, 3};
    std::vector<float> y(3 * kWidth, -1.0f);
    const Arguments arguments{
        .x = x.data(), .y = y.data(), .index = index.data(), .rows = index.size(), .width = kWidth};

    run(arguments, 1, 2);
    for (std::size_t i = 0; i < kWidth; ++i) {
        EXPECT_EQ(y[i], -1.0f);
        EXPECT_EQ(y[kWidth + i], x[i]);
        EXPECT_EQ(y[2 * kWidth + i], -1.0f);
    }
    run(arguments, 0, 1);
    run(arguments, 2, 3);
    for (std::size_t i = 0; i < kWidth; ++i) {
        EXPECT_EQ(y[i], x[3 * kWidth + i]);
        EXPECT_EQ(y[2 * kWidth + i], x[3 * kWidth + i]);
    }
}

}  // namespace
}  // namespace inkstone::ops::gather_rows
