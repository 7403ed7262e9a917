// Resized pixels against Pillow's, up and down, thin and extreme.
#include "image/resize.h"

#include <gtest/gtest.h>

#include "image/test_support.h"

namespace inkstone::image {

TEST(ResizeBicubic, EqualsPillow) {
    const auto golden = testing::read_golden("resize.json");
    EXPECT_GE(golden.size(), 20U);
    for (const auto& row : golden) {
        const auto image = resize_bicubic(testing::noise_image(row[0], row[1], row[2]), row[3], row[4]);
        ASSERT_TRUE(image.ok()) << image.error().text();
        EXPECT_EQ(image->width, row[3]);
        EXPECT_EQ(image->height, row[4]);
        EXPECT_EQ(testing::crc32(std::as_bytes(std::span(image->pixels))), row[5].get<std::uint32_t>()) << row;
    }
}

TEST(ResizeBicubic, KeepsFlatColor) {
    Image image = allocate_image(13, 7).value();
    for (std::uint8_t& sample : image.pixels) sample = 255;
    EXPECT_EQ(resize_bicubic(image, 40, 3)->pixels, std::vector<std::uint8_t>(40 * 3 * 3, 255));
}

TEST(ResizeBicubic, Stops) {
    const CancelToken cancel{true};
    const Image image = testing::noise_image(40, 30, 1);
    for (const auto& [width, height] : {std::pair{20, 30}, {40, 15}, {20, 15}, {40, 60}})
        EXPECT_EQ(resize_bicubic(image, width, height, &cancel).error().code, ErrorCode::cancelled);
}

TEST(ResizeBicubic, RefusesEmptySides) {
    EXPECT_EQ(resize_bicubic(allocate_image(2, 2).value(), 0, 2).error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(resize_bicubic(Image{}, 2, 2).error().code, ErrorCode::invalid_argument);
}

}  // namespace inkstone::image
