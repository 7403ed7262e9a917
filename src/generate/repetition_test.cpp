// Loops of every period are found where the limits say, and near-loops are not.
#include "generate/repetition.h"

#include <gtest/gtest.h>

#include <vector>

namespace inkstone::generate {
namespace {

// Tokens of a text that never repeats, then a unit over and over; the length at which the guard first sees a loop.
struct Found {
    std::size_t at = 0;
    RepetitionGuard::Loop loop;
};
std::optional<Found> first_loop(const std::vector<std::int32_t>& ids, const RepetitionLimits& limits = {}) {
    RepetitionGuard guard;
    for (std::size_t length = 1; length <= ids.size(); ++length) {
        guard.observe(std::span(ids).first(length));
        if (const auto loop = guard.loop(limits)) return Found{length, *loop};
    }
    return std::nullopt;
}

std::vector<std::int32_t> with_loop(std::size_t prefix, std::size_t unit, std::size_t repeats) {
    std::vector<std::int32_t> ids;
    for (std::size_t i = 0; i < prefix; ++i) ids.push_back(static_cast<std::int32_t>(10000 + i));
    for (std::size_t i = 0; i < unit * repeats; ++i) ids.push_back(static_cast<std::int32_t>(i % unit));
    return ids;
}

}  // namespace

TEST(Repetition, FindsEveryPeriod) {
    for (const std::size_t unit : {1U, 2U, 3U, 16U, 40U, 199U, 200U}) {
        const std::size_t prefix = 23;
        const auto found = first_loop(with_loop(prefix, unit, 300));
        ASSERT_TRUE(found) << unit;
        EXPECT_EQ(found->loop.unit, unit);
        EXPECT_EQ(found->at, prefix + std::max<std::size_t>(128, 8 * unit)) << unit;
        EXPECT_EQ(found->loop.tail, found->at - prefix);
    }
}

TEST(Repetition, LeavesRealTextAlone) {
    EXPECT_FALSE(first_loop(with_loop(5000, 1, 1)));
    EXPECT_FALSE(first_loop(with_loop(0, 201, 20)));  // longer than any unit
    EXPECT_FALSE(first_loop(with_loop(10, 1, 127)));  // a dotted leader
    EXPECT_FALSE(first_loop(with_loop(10, 40, 7)));   // seven equal rows
    // A loop that is broken once starts anew.
    auto ids = with_loop(0, 3, 40);
    ids.push_back(777);
    const auto again = with_loop(0, 3, 40);
    ids.insert(ids.end(), again.begin(), again.end());
    EXPECT_FALSE(first_loop(ids));
}

TEST(Repetition, LimitsAreTheCallers) {
    EXPECT_FALSE(first_loop(with_loop(0, 42, 40), {8, 4096}));
    EXPECT_TRUE(first_loop(with_loop(0, 42, 100), {8, 4096}));
    EXPECT_EQ(first_loop(with_loop(0, 5, 100), {2, 0})->at, 10U);
}

}  // namespace inkstone::generate
