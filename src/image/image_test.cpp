// Images from a caller's pixels.
#include "image/image.h"

#include <gtest/gtest.h>

namespace inkstone::image {

using Bytes = std::vector<std::uint8_t>;

TEST(FromPixels, ReordersSamples) {
    const Bytes samples = {1, 2, 3, 4, 5, 6};
    EXPECT_EQ(from_pixels(samples.data(), 2, 1, 6, PixelFormat::rgb)->pixels, samples);
    EXPECT_EQ(from_pixels(samples.data(), 2, 1, 6, PixelFormat::bgr)->pixels, (Bytes{3, 2, 1, 6, 5, 4}));
    EXPECT_EQ(from_pixels(samples.data(), 2, 1, 2, PixelFormat::gray)->pixels, (Bytes{1, 1, 1, 2, 2, 2}));
}

TEST(FromPixels, ComposesAlpha) {
    const Bytes samples = {0, 100, 200, 255, 0, 100, 200, 0, 0, 100, 200, 51};
    EXPECT_EQ(from_pixels(samples.data(), 3, 1, 12, PixelFormat::rgba)->pixels,
              (Bytes{0, 100, 200, 255, 255, 255, 204, 224, 244}));
    EXPECT_EQ(from_pixels(samples.data(), 3, 1, 12, PixelFormat::bgra, {0, 0, 0})->pixels,
              (Bytes{200, 100, 0, 0, 0, 0, 40, 20, 0}));
}

TEST(FromPixels, FollowsTheStride) {
    const Bytes samples = {1, 2, 3, 99, 4, 5, 6, 99};
    EXPECT_EQ(from_pixels(samples.data(), 1, 2, 4, PixelFormat::rgb)->pixels, (Bytes{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(from_pixels(samples.data() + 4, 1, 2, -4, PixelFormat::rgb)->pixels, (Bytes{4, 5, 6, 1, 2, 3}));
}

TEST(FromPixels, RefusesBadArguments) {
    const Bytes samples(64);
    const auto code = [&](int width, int height, std::ptrdiff_t stride) {
        const auto result = from_pixels(samples.data(), width, height, stride, PixelFormat::rgb);
        return result.ok() ? ErrorCode::internal : result.error().code;
    };
    EXPECT_EQ(code(0, 1, 3), ErrorCode::invalid_argument);
    EXPECT_EQ(code(1, -1, 3), ErrorCode::invalid_argument);
    EXPECT_EQ(code(2, 1, 5), ErrorCode::invalid_argument);
    EXPECT_EQ(code(2, 1, -5), ErrorCode::invalid_argument);
    EXPECT_EQ(from_pixels(nullptr, 1, 1, 3, PixelFormat::rgb).error().code, ErrorCode::invalid_argument);
}

TEST(Image, Stops) {
    const CancelToken cancel{true};
    const std::uint8_t pixel[3] = {1, 2, 3};
    EXPECT_EQ(allocate_image(1, 1, &cancel).error().code, ErrorCode::cancelled);
    EXPECT_EQ(from_pixels(pixel, 1, 1, 3, PixelFormat::rgb, kWhite, &cancel).error().code, ErrorCode::cancelled);
}

}  // namespace inkstone::image
