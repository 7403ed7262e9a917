// FrameRows: one row before, one after, taken whole and one row at a time.
#include "ops/frame_rows/frame_rows.h"

#include <gtest/gtest.h>

#include <vector>

namespace inkstone::ops::frame_rows {
namespace {

TEST(FrameRows, PutsOneRowBeforeAndOneAfter) {
    const std::vector<float> x = {1, 2, 3, 4}, begin = {-1, -2}, end = {-3, -4};
    const std::vector<float> want = {-1, -2, 1, 2, 3, 4, -3, -4};
    std::vector<float> whole(8), split(8);
    Arguments arguments{
        .x = x.data(), .begin = begin.data(), .end = end.data(), .y = whole.data(), .rows = 2, .width = 2};
    run(arguments, 0, 4);
    EXPECT_EQ(whole, want);
    arguments.y = split.data();
    for (std::size_t row = 4; row-- > 0;) run(arguments, row, row + 1);
    EXPECT_EQ(split, want);
}

}  // namespace
}  // namespace inkstone::ops::frame_rows
