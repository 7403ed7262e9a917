// Sums, products and ranges at the edge of 64 bits.
#include "base/checked.h"

#include <gtest/gtest.h>

#include <limits>

namespace inkstone {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

TEST(Checked, RefusesWhatDoesNotFit) {
    EXPECT_EQ(checked_add(kMax, 0), kMax);
    EXPECT_FALSE(checked_add(kMax, 1));
    EXPECT_EQ(checked_multiply(1ULL << 32, 1ULL << 31), 1ULL << 63);
    EXPECT_FALSE(checked_multiply(1ULL << 32, 1ULL << 32));
    const std::uint64_t wraps_to_zero[] = {1ULL << 62, 4};
    EXPECT_FALSE(checked_product(wraps_to_zero));
    EXPECT_EQ(checked_product({}), 1U);
}

TEST(Checked, RangesDoNotWrap) {
    EXPECT_TRUE(range_inside(0, 8, 8));
    EXPECT_TRUE(range_inside(8, 0, 8));
    EXPECT_FALSE(range_inside(9, 0, 8));
    EXPECT_FALSE(range_inside(kMax - 7, 8, 100));
    EXPECT_FALSE(range_inside(1, kMax, 100));
}

}  // namespace inkstone
