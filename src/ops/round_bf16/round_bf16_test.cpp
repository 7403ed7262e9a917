// Rounding to BF16: the reference rounds to nearest even and keeps what must stay; every form equals it bit for bit at
// every tail, pads an odd width with zero and touches nothing else.
#include "ops/round_bf16/round_bf16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>
#include <string>

#include "tensor/half.h"
#include "testing/buffers.h"
#include "testing/instruction_sets.h"

namespace inkstone::ops::round_bf16 {
namespace {

constexpr std::uint16_t kUntouched = 0xa5a5;

std::uint16_t rounded(float x) {
    std::uint16_t y[2] = {kUntouched, kUntouched};
    reference({.x = &x, .y = y, .rows = 1, .width = 1, .x_stride = 1, .y_stride = 2});
    EXPECT_EQ(y[1], 0);
    return y[0];
}

TEST(RoundBf16, RoundsToTheNearestTiesToEven) {
    EXPECT_EQ(rounded(1.0f), 0x3f80);
    EXPECT_EQ(rounded(1.0f + 0x1p-8f), 0x3f80);             // half a step, to even below
    EXPECT_EQ(rounded(1.0f + 0x1p-7f + 0x1p-8f), 0x3f82);   // half a step, to even above
    EXPECT_EQ(rounded(1.0f + 0x1p-8f + 0x1p-23f), 0x3f81);  // just above half
    EXPECT_EQ(rounded(-1.0f - 0x1p-8f - 0x1p-23f), 0xbf81);
    EXPECT_EQ(rounded(-0.0f), 0x8000);
    EXPECT_EQ(rounded(std::numeric_limits<float>::max()), 0x7f80);
    EXPECT_EQ(rounded(-std::numeric_limits<float>::infinity()), 0xff80);
    EXPECT_EQ(rounded(0x1p-133f), 0x0001);  // denormal numbers are numbers
    EXPECT_EQ(rounded(0x1p-134f), 0x0000);
    // A NaN whose payload would be rounded away stays a NaN, and quiet.
    EXPECT_EQ(rounded(std::bit_cast<float>(0x7f800001u)), 0x7fc0);
    EXPECT_EQ(rounded(std::bit_cast<float>(0xffffffffu)), 0xffff);
}

void check(const std::vector<float>& x, std::size_t rows, std::size_t width) {
    const std::size_t x_stride = width + 3, y_stride = padded_width(width) + 4;
    ASSERT_GE(x.size(), rows * x_stride);
    std::vector<std::uint16_t> expected(rows * y_stride, kUntouched);
    Arguments arguments{x.data(), expected.data(), rows, width, x_stride, y_stride};
    reference(arguments);
    for (const auto& form : INKSTONE_AVAILABLE_BF16_FORMS(ops::round_bf16)) {
        SCOPED_TRACE(name_of(form.set) + ": " + std::to_string(rows) + " x " + std::to_string(width));
        // An exact buffer: what lies behind the last row must not be touched. Rows in two parts.
        std::vector<std::uint16_t> y(rows * y_stride, kUntouched);
        arguments.y = y.data();
        form.run(arguments, 0, rows / 2);
        form.run(arguments, rows / 2, rows);
        ASSERT_EQ(y, expected);
    }
}

TEST(RoundBf16, EveryFormEqualsTheReferenceAtEveryTail) {
    const std::vector<float> x = testing::random_floats(5 * 5000, 3);
    for (const std::size_t width :
         {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 18, 31, 32, 33, 63, 65, 1024, 1152, 4304, 4305})
        for (const std::size_t rows : {0, 1, 5}) check(x, rows, width);
}

TEST(RoundBf16, EveryFormEqualsTheReferenceOnAwkwardNumbers) {
    check(testing::awkward_floats(1200), 1, 1111);
    // Every upper half, with the lower halves around a tie.
    std::vector<float> x;
    for (std::uint32_t upper = 0; upper < 0x10000u; ++upper)
        for (const std::uint32_t lower : {0x0000u, 0x0001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
            x.push_back(std::bit_cast<float>(upper << 16 | lower));
    const std::size_t width = x.size();
    x.resize(width + 3);
    check(x, 1, width);
}

}  // namespace
}  // namespace inkstone::ops::round_bf16
