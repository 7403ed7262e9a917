// InsertNewlines: each line is copied and followed by the newline row; lines outside the range are left alone.
#include "ops/insert_newlines/insert_newlines.h"

#include <gtest/gtest.h>

#include <vector>

namespace inkstone::ops::insert_newlines {
namespace {

TEST(InsertNewlines, AppendsOneRowToEveryLine) {
    const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};  // 3 lines of 2 columns of width 2
    const std::vector<float> newline = {-1, -2};
    std::vector<float> y(18, 0.0f);
    const Arguments arguments{
        .x = x.data(), .newline = newline.data(), .y = y.data(), .lines = 3, .columns = 2, .width = 2};
    run(arguments, 1, 2);
    EXPECT_EQ(y, (std::vector<float>{0, 0, 0, 0, 0, 0, 5, 6, 7, 8, -1, -2, 0, 0, 0, 0, 0, 0}));
    run(arguments, 0, 1);
    run(arguments, 2, 3);
    EXPECT_EQ(y, (std::vector<float>{1, 2, 3, 4, -1, -2, 5, 6, 7, 8, -1, -2, 9, 10, 11, 12, -1, -2}));
}

}  // namespace
}  // namespace inkstone::ops::insert_newlines
