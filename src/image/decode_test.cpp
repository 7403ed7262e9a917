// Decoded pixels against Pillow's for every kind of every format, and what is refused by name or size. Damaged files
// are in hostile_test.cpp.
#include "image/decode.h"

#include <gtest/gtest.h>

#include <webp/decode.h>
#include <webp/encode.h>

#include <cstring>

#include "image/test_support.h"

namespace inkstone::image {

namespace {

using testing::crc32;
using testing::golden_path;
using testing::read_bytes;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

TEST(Decode, EqualsPillow) {
    const auto golden = testing::read_golden("decoded.json");
    EXPECT_GE(golden.size(), 230U);
    for (const auto& [name, expected] : golden.items()) {
        const auto image = decode_file(golden_path(name));
        ASSERT_TRUE(image.ok()) << image.error().text();
        EXPECT_EQ(image->width, expected[0]) << name;
        EXPECT_EQ(image->height, expected[1]) << name;
        EXPECT_EQ(crc32(std::as_bytes(std::span(image->pixels))), expected[2].get<std::uint32_t>()) << name;
    }
}

TEST(Decode, SixteenBitGrayIsNotBlank) {
    for (const char* name :
         {"png_type0_16bit.png", "tiff_gray1_16bit.tif", "tiff_gray0_16bit.tif", "pnm_p5_65535.pgm"}) {
        const auto image = decode_file(golden_path(name));
        ASSERT_TRUE(image.ok()) << image.error().text();
        std::array<int, 256> count{};
        for (const std::uint8_t sample : image->pixels) ++count[sample];
        int used = 0;
        for (const int c : count) used += c > 0;
        EXPECT_GT(used, 30) << name;
    }
}

TEST(Decode, ComposesOnTheChosenBackground) {
    DecodeOptions options;
    options.background = {10, 20, 30};
    for (const char* name : {"png_transparent_palette_entry.png", "webp_alpha_lossless.webp",
                             "webp_animated_alpha_part.webp", "tiff_rgba_straight.tif", "tiff_rgba_premultiplied.tif",
                             "tiff_gray_alpha.tif", "bmp_32bit_bgra.bmp", "pnm_p7_rgb_alpha.pam"}) {
        const auto image = decode_file(golden_path(name), options);
        ASSERT_TRUE(image.ok()) << image.error().text();
        const std::uint8_t wanted[3] = {10, 20, 30};
        int found = 0;
        for (std::size_t i = 0; i < image->pixels.size(); i += 3)
            found += std::memcmp(&image->pixels[i], wanted, 3) == 0;
        EXPECT_GE(found, 1) << name;
    }
}

TEST(Decode, IgnoresTheName) {
    const std::pair<const char*, const char*> cases[] = {
        {"webp_lossy.webp", "page.jpg"},     {"png_1x1.png", "page.jpeg"},   {"jpeg_422.jpg", "page.png"},
        {"tiff_fax_group4.tif", "page.bmp"}, {"bmp_24bit.bmp", "page.webp"}, {"pnm_p6_255.ppm", "page.tif"}};
    for (const auto& [source, name] : cases) {
        const auto wanted = decode_file(golden_path(source));
        ASSERT_TRUE(wanted.ok()) << wanted.error().text();
        const auto path = std::filesystem::path(::testing::TempDir()) / ("inkstone_decode_test_" + std::string(name));
        std::filesystem::copy_file(golden_path(source), path, std::filesystem::copy_options::overwrite_existing);
        const auto image = decode_file(path);
        std::filesystem::remove(path);
        ASSERT_TRUE(image.ok()) << image.error().text();
        EXPECT_EQ(image->pixels, wanted->pixels) << name;
    }
}

TEST(Decode, NamesFormatsThatAreNotRead) {
    const std::pair<std::string_view, std::string_view> cases[] = {
        {"GIF89a\x01\x01", "GIF"},
        {{"\0\0\0\x1c"
          "ftypavif",
          12},
         "AVIF"},
        {{"\0\0\0\x1c"
          "ftypheic",
          12},
         "HEIC"},
        {{"\0\0\0\x1c"
          "ftypmif1",
          12},
         "HEIF"},
        {"%PDF-1.7\n", "PDF"},
        {{"\0\0\0\x0cjP  \r\n", 10}, "JPEG 2000"},
        {{"\0\0\0\x0cJXL \r\n", 10}, "JPEG XL"},
    };
    for (const auto& [bytes, name] : cases) {
        const auto result = decode(bytes_of(bytes), "page.png");
        ASSERT_FALSE(result.ok()) << name;
        EXPECT_EQ(result.error().code, ErrorCode::unsupported);
        EXPECT_EQ(result.error().subject, "page.png");
        EXPECT_NE(result.error().message.find(std::string(name) + ", a format that is not read"), std::string::npos)
            << result.error().message;
        const std::string_view remedy = name == "PDF" ? "pdftoppm" : "convert it to PNG or JPEG";
        EXPECT_NE(result.error().message.find(remedy), std::string::npos) << result.error().message;
    }
}

TEST(Decode, RefusesWhatIsNoPicture) {
    const auto empty = decode({}, "empty.png");
    ASSERT_FALSE(empty.ok());
    EXPECT_EQ(empty.error().code, ErrorCode::malformed);
    const auto page = decode(bytes_of("<html>"), "page.png");
    ASSERT_FALSE(page.ok());
    EXPECT_EQ(page.error().code, ErrorCode::unsupported);
    EXPECT_NE(page.error().message.find("3c 68 74 6d 6c 3e"), std::string::npos) << page.error().message;
    EXPECT_EQ(decode_file(golden_path("absent.png")).error().code, ErrorCode::not_found);
    EXPECT_EQ(decode_file(golden_path("")).error().code, ErrorCode::io);
}

TEST(Decode, ChecksSizesBeforePixels) {
    DecodeOptions options;
    options.max_pixels = 37 * 23;
    EXPECT_TRUE(decode_file(golden_path("png_type2_8bit.png"), options).ok());
    options.max_pixels -= 1;
    for (const char* name : {"png_type2_8bit.png", "jpeg_422.jpg", "webp_lossy.webp", "webp_animated.webp",
                             "tiff_rgb_deflate_tiles.tif", "bmp_rle8.bmp", "pnm_p3_100.ppm"}) {
        const auto result = decode_file(golden_path(name), options);
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(result.error().code, ErrorCode::unsupported);
        EXPECT_NE(result.error().message.find("37 x 23 = 851"), std::string::npos) << result.error().message;
        EXPECT_NE(result.error().message.find("850"), std::string::npos) << result.error().message;
    }
    options = {};
    options.max_file_bytes = 100;
    EXPECT_FALSE(decode_file(golden_path("jpeg_422.jpg"), options).ok());
}

TEST(Decode, AsksBeforeReadingAndBeforePixels) {
    for (const char* name : {"png_type2_8bit.png", "jpeg_422.jpg", "webp_lossy.webp", "webp_animated.webp",
                             "tiff_rgb_deflate_tiles.tif", "bmp_rle8.bmp", "pnm_p3_100.ppm"}) {
        const std::uint64_t file_bytes = std::filesystem::file_size(golden_path(name));
        for (const bool by_file : {true, false}) {
            DecodeOptions options;
            int calls = 0;
            options.admit = [&](const DecodeDemand& demand) -> Status {
                if (calls++ == 0) {
                    EXPECT_EQ(demand.width + demand.height + demand.working_bytes, 0U);
                    EXPECT_EQ(demand.encoded_bytes, file_bytes);
                    if (!by_file) return {};
                } else {
                    EXPECT_EQ(demand.width, 37U);
                    EXPECT_EQ(demand.height, 23U);
                    EXPECT_GT(demand.encoded_bytes, file_bytes / 2);
                }
                return Error{ErrorCode::out_of_memory, "test", "limit", "is too low"};
            };
            const auto result = decode_file(golden_path(name), options);
            ASSERT_FALSE(result.ok()) << name;
            EXPECT_EQ(result.error().subject, "limit");
            EXPECT_EQ(calls, by_file ? 1 : 2) << name;
        }
    }
}

// What decoders hold beside the pixels is told before they take it.
TEST(Decode, TellsWhatItWorksWith) {
    // Bytes a pixel, at least.
    const std::pair<const char*, std::uint64_t> least[] = {
        {"jpeg_422.jpg", 0},
        {"jpeg_420_progressive.jpg", 3},  // coefficients of 16 bits, 1.5 to a pixel
        {"png_type6_16bit_interlaced.png", 4},
        {"webp_lossless.webp", 4},
        {"webp_alpha_lossy.webp", 4},
        {"jpeg_exif_MM_6.jpg", 3},  // turned
    };
    for (const auto& [name, each] : least) {
        std::uint64_t most = 0;
        DecodeOptions options;
        options.admit = [&](const DecodeDemand& demand) -> Status {
            most = std::max(most, demand.working_bytes);
            return {};
        };
        const auto image = decode_file(golden_path(name), options);
        ASSERT_TRUE(image.ok()) << name;
        const std::uint64_t pixels = std::uint64_t{1} * image->width * image->height;
        EXPECT_GE(most, pixels * each) << name;
        EXPECT_LE(most, (pixels + 16 * (image->width + image->height + 16)) * each) << name;  // whole blocks
    }
    std::uint64_t strip = 0;
    DecodeOptions options;
    options.admit = [&](const DecodeDemand& demand) -> Status {
        strip = std::max(strip, demand.working_bytes);
        return {};
    };
    ASSERT_TRUE(decode_file(golden_path("tiff_rgb_II.tif"), options).ok());
    EXPECT_EQ(strip, 37U * 5 * 3);  // five rows
}

// `admit` is asked when the pixels are about to be allocated: a token that is set there stops the decoder itself.
TEST(Decode, StopsInEveryDecoder) {
    for (const char* name :
         {"png_type2_8bit.png", "png_type6_16bit_interlaced.png", "jpeg_422.jpg", "jpeg_420_progressive.jpg",
          "webp_lossy.webp", "webp_lossless.webp", "webp_alpha_lossy.webp", "tiff_rgb_II.tif",
          "tiff_rgb_deflate_tiles.tif", "tiff_fax_group4.tif", "bmp_24bit.bmp", "bmp_rle8.bmp", "pnm_p3_100.ppm"}) {
        CancelToken cancel{false};
        DecodeOptions options;
        options.cancel = &cancel;
        ASSERT_TRUE(decode_file(golden_path(name), options).ok()) << name;
        options.admit = [&](const DecodeDemand& demand) -> Status {
            cancel = demand.width > 0;
            return {};
        };
        const auto result = decode_file(golden_path(name), options);
        ASSERT_FALSE(result.ok()) << name;
        EXPECT_EQ(result.error().code, ErrorCode::cancelled) << result.error().text();
    }
}

TEST(Decode, StopsBeforeReadingAndWhileTurning) {
    CancelToken cancel{true};
    DecodeOptions options;
    options.cancel = &cancel;
    EXPECT_EQ(decode_file(golden_path("jpeg_422.jpg"), options).error().code, ErrorCode::cancelled);
    cancel = false;
    std::uint64_t pixel_bytes = 0;
    options.admit = [&](const DecodeDemand& demand) -> Status {
        pixel_bytes = 3 * demand.width * demand.height;
        cancel = demand.working_bytes > 0;  // the turned copy
        return {};
    };
    const auto turned = decode_file(golden_path("jpeg_exif_MM_6.jpg"), options);
    ASSERT_FALSE(turned.ok());
    EXPECT_EQ(turned.error().code, ErrorCode::cancelled);
    EXPECT_GT(pixel_bytes, 0U);
}

// Larger than one piece of those that the library is given.
TEST(Decode, WebpInPiecesEqualsWebpAtOnce) {
    constexpr int kWidth = 500, kHeight = 300;
    const Image noise = testing::noise_image(kWidth, kHeight, 5);
    for (const bool lossless : {false, true}) {
        std::uint8_t* encoded = nullptr;
        const std::size_t bytes =
            lossless ? WebPEncodeLosslessRGB(noise.pixels.data(), kWidth, kHeight, kWidth * 3, &encoded)
                     : WebPEncodeRGB(noise.pixels.data(), kWidth, kHeight, kWidth * 3, 90, &encoded);
        ASSERT_GT(bytes, std::size_t{100} << 10);
        const std::span file(reinterpret_cast<const std::byte*>(encoded), bytes);
        const auto image = decode(file, "noise");
        ASSERT_TRUE(image.ok()) << image.error().text();
        std::vector<std::uint8_t> wanted(image->pixels.size());
        ASSERT_NE(WebPDecodeRGBInto(encoded, bytes, wanted.data(), wanted.size(), kWidth * 3), nullptr);
        EXPECT_EQ(image->pixels, wanted) << lossless;
        for (const std::size_t kept : {bytes / 2, bytes * 9 / 10, bytes - 2})
            EXPECT_EQ(decode(file.first(kept), "noise").error().code, ErrorCode::malformed) << kept;
        WebPFree(encoded);
    }
}

}  // namespace inkstone::image
