// Orientation bytes that are cut, misplaced or strange; whole files with all orientations are in decode_test.cpp.
#include "image/exif.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "image/test_support.h"

namespace inkstone::image {

namespace {

std::optional<Orientation> of_exif(std::string_view bytes) {
    return orientation_of_exif(std::as_bytes(std::span(bytes)));
}
std::optional<Orientation> of_xmp(std::string_view text) { return orientation_of_xmp(std::as_bytes(std::span(text))); }

// Little endian, one directory at 8 with one entry.
std::string exif(std::string_view type, std::string_view count, std::string_view value) {
    return std::string("II*\0\x08\0\0\0\x01\0\x12\x01", 12) + std::string(type) + std::string(count) +
           std::string(value);
}

constexpr std::string_view kShort("\x03\0", 2), kByte("\x01\0", 2), kOne("\x01\0\0\0", 4), kTwo("\x02\0\0\0", 4);

}  // namespace

TEST(Exif, ReadsTheEntry) {
    EXPECT_EQ(of_exif(exif(kShort, kOne, {"\x06\0\0\0", 4})), Orientation::rotate_90_clockwise);
    EXPECT_EQ(of_exif("Exif" + std::string(2, '\0') + exif(kShort, kOne, {"\x03\0\0\0", 4})), Orientation::rotate_180);
    EXPECT_EQ(of_exif(exif(kShort, kTwo, {"\x08\0\x06\0", 4})), Orientation::rotate_90_counterclockwise);
    EXPECT_EQ(of_exif(exif(kShort, kOne, {"\0\0\0\0", 4})), Orientation::upright);
    EXPECT_EQ(of_exif(exif(kShort, {"\x03\0\0\0", 4}, {"\x16\0\0\0\x05\0", 6})), Orientation::transpose);
}

TEST(Exif, RefusesDamage) {
    const std::string whole = exif(kShort, kOne, {"\x06\0\0\0", 4});
    for (std::size_t length = 0; length < whole.size() - 2; ++length)
        EXPECT_FALSE(of_exif(std::string_view(whole).substr(0, length))) << length;
    EXPECT_FALSE(of_exif(exif(kByte, kOne, {"\x06\0\0\0", 4})));
    EXPECT_FALSE(of_exif(exif(kShort, {"\0\0\0\0", 4}, {"\x06\0\0\0", 4})));
    EXPECT_FALSE(of_exif(exif(kShort, {"\xff\xff\xff\xff", 4}, {"\xfe\xff\xff\xff", 4})));
    EXPECT_FALSE(of_exif({"II*\0\xff\xff\xff\xff", 8}));
    EXPECT_FALSE(of_exif({"IM*\0\x08\0\0\0\0\0", 10}));
}

TEST(Exif, ReadsXmp) {
    EXPECT_EQ(of_xmp("<a tiff:Orientation=\"6\"/>"), Orientation::rotate_90_clockwise);
    EXPECT_EQ(of_xmp("<tiff:Orientation>8</tiff:Orientation>"), Orientation::rotate_90_counterclockwise);
    EXPECT_EQ(of_xmp("tiff:Orientation tiff:Orientation=\"2\""), Orientation::flip_left_right);
    EXPECT_EQ(of_xmp("tiff:Orientation=\"9\""), Orientation::upright);
    EXPECT_FALSE(of_xmp("tiff:Orientation=\"x\""));
    EXPECT_FALSE(of_xmp("tiff:Orientation=\""));
    EXPECT_FALSE(of_xmp(""));
}

TEST(Orient, EachOrientationHasItsInverse) {
    const Image image = testing::noise_image(5, 3, 7);
    for (int value = 1; value <= 8; ++value) {
        const auto inverse = value == 6 ? 8 : value == 8 ? 6 : value;
        const auto turned = orient(image, static_cast<Orientation>(value));
        ASSERT_TRUE(turned.ok());
        EXPECT_EQ(turned->width, value >= 5 ? 3 : 5);
        const auto back = orient(*turned, static_cast<Orientation>(inverse));
        ASSERT_TRUE(back.ok());
        EXPECT_EQ(back->pixels, image.pixels) << value;
        if (value > 1) {
            EXPECT_NE(turned->pixels, image.pixels) << value;
        }
    }
}

}  // namespace inkstone::image
