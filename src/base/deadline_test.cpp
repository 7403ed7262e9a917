// A deadline passes when it should and never after it was given up.
#include "base/deadline.h"

#include <gtest/gtest.h>

namespace inkstone {
namespace {

TEST(Deadline, PassesAfterItsTimeAndNotBefore) {
    const auto start = std::chrono::steady_clock::now();
    const Deadline deadline(std::chrono::milliseconds(20));
    while (!deadline.passed()) std::this_thread::yield();
    EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(20));
}

TEST(Deadline, OneThatIsFarAwayEndsWithItsObject) {
    for (const double seconds : {3600.0, 1e300}) {
        const Deadline deadline{std::chrono::duration<double>(seconds)};
        EXPECT_FALSE(deadline.passed());
    }
}

}  // namespace
}  // namespace inkstone
