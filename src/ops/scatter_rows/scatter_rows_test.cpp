// ScatterRows: rows with a source are replaced, the others kept, in place and out of place.
#include "ops/scatter_rows/scatter_rows.h"

#include <gtest/gtest.h>

#include <vector>

namespace inkstone::ops::scatter_rows {
namespace {

TEST(ScatterRows, ReplacesRowsThatHaveASource) {
    constexpr std::size_t kWidth = 3;
    const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const std::vector<float> token = {-1, -2, -3};
    const std::vector<const float*> source = {nullptr, token.data(), nullptr};
    const std::vector<float> want = {1, 2, 3, -1, -2, -3, 7, 8, 9};

    std::vector<float> y(x.size());
    const Arguments apart{.x = x.data(), .source = source.data(), .y = y.data(), .rows = 3, .width = kWidth};
    run(apart, 0, 2);
    run(apart, 2, 3);
    EXPECT_EQ(y, want);

    std::vector<float> both = x;
    run({.x = both.data(), .source = source.data(), .y = both.data(), .rows = 3, .width = kWidth}, 0, 3);
    EXPECT_EQ(both, want);
}

}  // namespace
}  // namespace inkstone::ops::scatter_rows
