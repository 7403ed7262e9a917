// Sizes against the official processor's function, and its error.
#include "image/smart_resize.h"

#include <gtest/gtest.h>

#include "image/test_support.h"

namespace inkstone::image {

TEST(SmartResize, EqualsTheOfficialProcessor) {
    const auto golden = testing::read_golden("smart_resize.json");
    EXPECT_GE(golden.size(), 400U);
    for (const auto& row : golden) {
        const auto size = smart_resize({row[0], row[1]}, row[2], row[3], row[4]);
        ASSERT_TRUE(size.ok()) << row << size.error().text();
        EXPECT_EQ(size->height, row[5]) << row;
        EXPECT_EQ(size->width, row[6]) << row;
    }
}

TEST(SmartResize, KeepsItsPromises) {
    testing::Noise noise{3};
    for (int i = 0; i < 5000; ++i) {
        const Size size{1 + noise.next() * (1 + noise.next() % 40), 1 + noise.next() * (1 + noise.next() % 40)};
        const auto result = smart_resize(size, 32, 8192, 786432);
        if (!result) continue;
        EXPECT_EQ(result->height % 32, 0);
        EXPECT_EQ(result->width % 32, 0);
        EXPECT_GE(result->height * result->width, 8192);
        EXPECT_TRUE(result->height * result->width <= 786432 || result->height == 32 || result->width == 32);
    }
}

TEST(SmartResize, RefusesExtremeRatios) {
    EXPECT_TRUE(smart_resize({10, 2000}, 32, 8192, 786432).ok());
    const auto result = smart_resize({10, 2001}, 32, 8192, 786432);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::unsupported);
    EXPECT_EQ(result.error().subject, "2001 x 10 pixels");
    EXPECT_NE(result.error().message.find("200.10 : 1"), std::string::npos) << result.error().message;
    EXPECT_NE(result.error().message.find("200 : 1"), std::string::npos) << result.error().message;
}

TEST(SmartResize, RefusesBadNumbers) {
    constexpr std::int64_t kHuge = std::int64_t{1} << 62;
    const auto code = [](Size size, std::int64_t factor, std::int64_t min_pixels, std::int64_t max_pixels) {
        const auto result = smart_resize(size, factor, min_pixels, max_pixels);
        return result.ok() ? ErrorCode::internal : result.error().code;
    };
    EXPECT_EQ(code({0, 5}, 32, 1, 100), ErrorCode::invalid_argument);
    EXPECT_EQ(code({5, 5}, 0, 1, 100), ErrorCode::invalid_argument);
    EXPECT_EQ(code({5, 5}, kHuge, 1, 100), ErrorCode::invalid_argument);
    EXPECT_EQ(code({5, 5}, 32, 0, 100), ErrorCode::invalid_argument);
    EXPECT_EQ(code({5, 5}, 32, 200, 100), ErrorCode::invalid_argument);
    EXPECT_EQ(code({5, 5}, 32, 1, kHuge), ErrorCode::invalid_argument);
    EXPECT_EQ(code({kHuge, kHuge}, 32, 1, 100), ErrorCode::invalid_argument);
}

}  // namespace inkstone::image
