// Decoded pixels against Pillow's for every kind of PNG and JPEG, and hostile bytes: cut, changed, oversized, foreign.
#include "image/decode.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "image/test_support.h"

namespace inkstone::image {

namespace {

using testing::crc32;
using testing::golden_path;
using testing::read_bytes;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::uint32_t read_big_endian(std::span<const std::byte> bytes) {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(bytes[i]);
    return value;
}

void write_big_endian(std::uint32_t value, std::span<std::byte> bytes) {
    for (int i = 0; i < 4; ++i) bytes[i] = static_cast<std::byte>(value >> (24 - 8 * i));
}

// Makes the checksums of changed chunks right again, so that the change reaches the decoder behind them.
void repair_checksums(std::vector<std::byte>& png) {
    for (std::size_t at = 8; png.size() - at >= 12;) {
        const std::uint32_t length = read_big_endian(std::span(png).subspan(at));
        if (length > png.size() - at - 12) return;
        const std::uint32_t crc = crc32(std::span(png).subspan(at + 4, length + 4));
        write_big_endian(crc, std::span(png).subspan(at + 8 + length));
        at += length + 12;
        if (at > png.size()) return;
    }
}

// The files that stand for their kind in the tests with hostile bytes.
constexpr const char* kHostileSources[] = {
    "png_type2_8bit.png",    "png_type6_16bit_interlaced.png", "png_transparent_palette_interlaced.png",
    "png_exif_after.png",    "png_raw_profile_compressed.png", "jpeg_422.jpg",
    "jpeg_420_restarts.jpg", "jpeg_420_progressive.jpg",       "jpeg_cmyk_adobe.jpg",
    "jpeg_exif_MM_6.jpg",
};

void expect_error_or_image(const Result<Image>& result) {
    if (result.ok()) {
        EXPECT_EQ(result->pixels.size(), static_cast<std::size_t>(result->width) * result->height * 3);
    } else {
        EXPECT_FALSE(result.error().message.empty());
        EXPECT_EQ(result.error().stage, "decode image");
        EXPECT_NE(result.error().code, ErrorCode::internal);
    }
}

}  // namespace

TEST(Decode, EqualsPillow) {
    const auto golden = testing::read_golden("decoded.json");
    EXPECT_GE(golden.size(), 80U);
    for (const auto& [name, expected] : golden.items()) {
        const auto image = decode_file(golden_path(name));
        ASSERT_TRUE(image.ok()) << image.error().text();
        EXPECT_EQ(image->width, expected[0]) << name;
        EXPECT_EQ(image->height, expected[1]) << name;
        EXPECT_EQ(crc32(std::as_bytes(std::span(image->pixels))), expected[2].get<std::uint32_t>()) << name;
    }
}

TEST(Decode, SixteenBitGrayIsNotBlank) {
    const auto image = decode_file(golden_path("png_type0_16bit.png"));
    ASSERT_TRUE(image.ok()) << image.error().text();
    std::array<int, 256> count{};
    for (const std::uint8_t sample : image->pixels) ++count[sample];
    int used = 0;
    for (const int c : count) used += c > 0;
    EXPECT_GT(used, 30);
}

TEST(Decode, ComposesOnTheChosenBackground) {
    DecodeOptions options;
    options.background = {10, 20, 30};
    const auto image = decode_file(golden_path("png_transparent_palette_entry.png"), options);
    ASSERT_TRUE(image.ok()) << image.error().text();
    const std::uint8_t wanted[3] = {10, 20, 30};
    int found = 0;
    for (std::size_t i = 0; i < image->pixels.size(); i += 3) found += std::memcmp(&image->pixels[i], wanted, 3) == 0;
    EXPECT_GT(found, 10);
}

TEST(Decode, IgnoresTheName) {
    const auto png = read_bytes(golden_path("png_1x1.png"));
    EXPECT_TRUE(decode(png, "declared-as.jpg").ok());
}

TEST(Decode, NamesFormatsThatAreNotRead) {
    const std::pair<std::string_view, std::string_view> cases[] = {
        {{"RIFF\x10\0\0\0WEBPVP8 ", 16}, "WebP"},
        {{"II*\0\x08\0\0\0", 8}, "TIFF"},
        {{"MM\0*\0\0\0\x08", 8}, "TIFF"},
        {{"MM\0+\0\x08\0\0", 8}, "BigTIFF"},
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
        {"BM\x10\x20", "BMP"},
        {"P6\n2 2\n255\n", "PNM"},
        {{"\0\0\0\x0cjP  \r\n", 10}, "JPEG 2000"},
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
    for (const char* name : {"png_type2_8bit.png", "jpeg_422.jpg"}) {
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

TEST(Decode, RefusesSizesThatTheFileCannotHold) {
    auto png = read_bytes(golden_path("png_type2_8bit.png"));
    write_big_endian(0x7FFFFFFF, std::span(png).subspan(16));
    write_big_endian(0x7FFFFFFF, std::span(png).subspan(20));
    repair_checksums(png);
    EXPECT_EQ(decode(png, "bomb").error().code, ErrorCode::unsupported);
    write_big_endian(12000, std::span(png).subspan(16));
    write_big_endian(12000, std::span(png).subspan(20));
    repair_checksums(png);
    const auto large = decode(png, "bomb");
    EXPECT_EQ(large.error().code, ErrorCode::malformed);
    EXPECT_NE(large.error().message.find("144000000"), std::string::npos) << large.error().message;

    auto jpeg = read_bytes(golden_path("jpeg_422.jpg"));
    for (std::size_t i = 0; i + 9 < jpeg.size(); ++i) {
        if (jpeg[i] != std::byte{0xFF} || jpeg[i + 1] != std::byte{0xC0}) continue;
        write_big_endian(12000U << 16 | 12000U, std::span(jpeg).subspan(i + 5));
        break;
    }
    const auto jpeg_result = decode(jpeg, "bomb");
    EXPECT_EQ(jpeg_result.error().code, ErrorCode::malformed);
    EXPECT_NE(jpeg_result.error().message.find("144000000"), std::string::npos) << jpeg_result.error().message;
}

TEST(Decode, RefusesChunksLongerThanTheFile) {
    auto png = read_bytes(golden_path("png_raw_profile_compressed.png"));
    write_big_endian(0x7FFFFFF0, std::span(png).subspan(33));  // the chunk after the header
    const auto result = decode(png, "long chunk");
    EXPECT_EQ(result.error().code, ErrorCode::malformed);
    EXPECT_NE(result.error().message.find("ends inside a chunk"), std::string::npos) << result.error().message;
}

TEST(Decode, RefusesCutFiles) {
    for (const char* name : kHostileSources) {
        const auto whole = read_bytes(golden_path(name));
        for (int cut = 0; cut < 50; ++cut) {
            const std::size_t length = whole.size() * cut / 50;
            EXPECT_FALSE(decode(std::span(whole).first(length), name).ok()) << name << ", " << length << " bytes";
        }
        for (std::size_t missing = 1; missing <= 16; ++missing)
            EXPECT_FALSE(decode(std::span(whole).first(whole.size() - missing), name).ok()) << name << " - " << missing;
    }
}

TEST(Decode, SurvivesChangedBytes) {
    for (const char* name : kHostileSources) {
        const auto whole = read_bytes(golden_path(name));
        for (std::uint32_t seed = 0; seed < 200; ++seed) {
            std::mt19937 random(seed);
            auto changed = whole;
            const std::size_t changes = 1 + random() % 8;
            for (std::size_t i = 0; i < changes; ++i)
                changed[random() % changed.size()] = static_cast<std::byte>(random());
            if (seed % 2 == 0 && std::string_view(name).ends_with(".png")) repair_checksums(changed);
            expect_error_or_image(decode(changed, name));
        }
    }
}

}  // namespace inkstone::image
