// Hostile bytes for every format: files cut at many points, with changed bytes, with sides and counts that they cannot
// hold. Each gives an error or a picture, prints nothing, and asks for no more memory than the picture's size allows.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "image/decode.h"
#include "image/test_support.h"
#include "testing/allocations.h"

namespace inkstone::image {

namespace {

using inkstone::testing::largest_request_bytes;
using testing::crc32;
using testing::golden_path;
using testing::read_bytes;

std::uint64_t read_number(std::span<const std::byte> bytes, std::size_t offset, std::size_t width, bool big_endian) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i)
        value = value << 8 | std::to_integer<std::uint64_t>(bytes[offset + (big_endian ? i : width - 1 - i)]);
    return value;
}

void write_number(std::vector<std::byte>& bytes, std::size_t offset, std::size_t width, bool big_endian,
                  std::uint64_t value) {
    for (std::size_t i = 0; i < width; ++i)
        bytes[offset + (big_endian ? width - 1 - i : i)] = static_cast<std::byte>(value >> (8 * i));
}

// Makes the checksums of changed chunks right again, so that the change reaches the decoder behind them.
void repair_checksums(std::vector<std::byte>& png) {
    for (std::size_t at = 8; png.size() - at >= 12;) {
        const std::uint64_t length = read_number(png, at, 4, true);
        if (length > png.size() - at - 12) return;
        write_number(png, at + 8 + length, 4, true, crc32(std::span(png).subspan(at + 4, length + 4)));
        at += length + 12;
    }
}

// Gives an entry of the first directory of a little-endian TIFF file another value, which stands in the entry.
void change_entry(std::vector<std::byte>& tiff, std::uint64_t tag, std::uint32_t value) {
    const std::size_t directory = read_number(tiff, 4, 4, false);
    const std::uint64_t entries = read_number(tiff, directory, 2, false);
    for (std::size_t i = 0; i < entries; ++i) {
        const std::size_t at = directory + 2 + i * 12;
        if (read_number(tiff, at, 2, false) != tag) continue;
        write_number(tiff, at + 2, 2, false, 4);  // 32-bit number
        write_number(tiff, at + 4, 4, false, 1);
        write_number(tiff, at + 8, 4, false, value);
        return;
    }
    FAIL() << "no tag " << tag;
}

// The limits of these tests: with them no request for memory may be larger than 4 times the picture and what the
// format's library takes for its tables, whatever a file claims.
constexpr std::uint64_t kMaxPixels = 1 << 16;
constexpr std::size_t kPictureBytes = 4 * 3 * kMaxPixels;
constexpr std::size_t kLibraryBytes = 1 << 20;  // of TIFF also a tile of a usual size
constexpr std::size_t kWebpBytes = 16 << 20;    // up to 1000 groups of prefix codes, before their bytes are read

struct Format {
    const char* name;
    bool every_byte_counts;  // a file that is cut anywhere is refused
    std::size_t library_bytes;
    std::vector<const char*> files;
};

const Format kFormats[] = {
    {"PNG",
     true,
     kLibraryBytes,
     {"png_type2_8bit.png", "png_type6_16bit_interlaced.png", "png_transparent_palette_interlaced.png",
      "png_exif_after.png", "png_raw_profile_compressed.png"}},
    {"JPEG",
     true,
     kLibraryBytes,
     {"jpeg_422.jpg", "jpeg_420_restarts.jpg", "jpeg_420_progressive.jpg", "jpeg_cmyk_adobe.jpg",
      "jpeg_exif_MM_6.jpg"}},
    {"WebP",
     true,
     kWebpBytes,
     {"webp_lossy.webp", "webp_lossless.webp", "webp_alpha_lossy.webp", "webp_animated_alpha_part.webp",
      "webp_exif_MM_5.webp"}},
    {"TIFF",
     false,
     kLibraryBytes,
     {"tiff_rgb_none_strips.tif", "tiff_rgb_deflate_tiles.tif", "tiff_lzw_predictor.tif", "tiff_fax_group3_2d.tif",
      "tiff_fax_group4.tif", "tiff_jpeg_ycbcr.tif", "tiff_rgb_planes_tiles.tif", "tiff_palette_4bit.tif",
      "tiff_big_MM.tif", "tiff_fill_order_packbits.tif"}},
    {"BMP",
     false,
     0,
     {"bmp_4bit.bmp", "bmp_24bit_os2.bmp", "bmp_16bit_565.bmp", "bmp_32bit_rgba.bmp", "bmp_rle8.bmp",
      "bmp_rle4_jump.bmp"}},
    {"PNM",
     false,
     0,
     {"pnm_p1.pbm", "pnm_p2_1000.pgm", "pnm_p3_100.ppm", "pnm_p4.pbm", "pnm_p6_1000.ppm", "pnm_p7_rgb_alpha.pam"}},
};

DecodeOptions limited() {
    DecodeOptions options;
    options.max_pixels = kMaxPixels;
    return options;
}

void expect_error_or_image(const Result<Image>& result) {
    if (result.ok()) {
        EXPECT_EQ(result->pixels.size(), static_cast<std::size_t>(result->width) * result->height * 3);
    } else {
        EXPECT_FALSE(result.error().message.empty());
        EXPECT_EQ(result.error().stage, "decode image");
        EXPECT_NE(result.error().code, ErrorCode::internal);
    }
}

std::vector<std::byte> changed(const std::vector<std::byte>& whole, std::uint32_t seed, std::string_view format) {
    std::mt19937 random(seed);
    auto bytes = whole;
    const std::size_t changes = 1 + random() % 8;
    // Every second file is changed near its begin, where its numbers are, or, of TIFF, near its end.
    const std::size_t reach = seed % 2 == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 200);
    const std::size_t start = format == "TIFF" ? bytes.size() - reach : 0;
    for (std::size_t i = 0; i < changes; ++i)
        bytes[start + random() % reach] = static_cast<std::byte>(random() % 4 == 0 ? 255 * (random() % 2) : random());
    if (format == "PNG" && seed % 4 != 3) repair_checksums(bytes);
    return bytes;
}

class Hostile : public ::testing::TestWithParam<Format> {};

void expect_error(const Result<Image>& result, ErrorCode code, std::string_view words) {
    ASSERT_FALSE(result.ok()) << words;
    EXPECT_EQ(result.error().code, code) << result.error().text();
    EXPECT_NE(result.error().message.find(words), std::string::npos) << result.error().text();
}

}  // namespace

TEST_P(Hostile, RefusesCutFiles) {
    for (const char* name : GetParam().files) {
        const auto whole = read_bytes(golden_path(name));
        const auto picture = decode(whole, name);
        ASSERT_TRUE(picture.ok()) << picture.error().text();
        std::vector<std::size_t> lengths;
        for (std::size_t cut = 0; cut < 100; ++cut) lengths.push_back(whole.size() * cut / 100);
        for (std::size_t missing = 1; missing <= 16; ++missing) lengths.push_back(whole.size() - missing);
        for (const std::size_t length : lengths) {
            const auto result = decode(std::span(whole).first(length), name, limited());
            expect_error_or_image(result);
            if (!result.ok()) continue;
            // What is missing was not a part of the picture, but for the last digits of the last sample in plain PNM.
            EXPECT_FALSE(GetParam().every_byte_counts) << name << ", " << length << " bytes";
            const std::size_t compared = result->pixels.size() - (std::string_view(name).starts_with("pnm_p") ? 3 : 0);
            ASSERT_EQ(result->pixels.size(), picture->pixels.size());
            EXPECT_TRUE(std::equal(result->pixels.begin(), result->pixels.begin() + compared, picture->pixels.begin()))
                << name << ", " << length << " bytes";
        }
    }
}

TEST_P(Hostile, SurvivesChangedBytes) {
    for (const char* name : GetParam().files) {
        const auto whole = read_bytes(golden_path(name));
        for (std::uint32_t seed = 0; seed < 500; ++seed) {
            const auto bytes = changed(whole, seed, GetParam().name);
            largest_request_bytes = 0;
            const auto result = decode(bytes, name, limited());
            EXPECT_LE(largest_request_bytes.load(), kPictureBytes + GetParam().library_bytes)
                << name << ", seed " << seed;
            expect_error_or_image(result);
        }
    }
}

TEST_P(Hostile, PrintsNothing) {
    ::testing::internal::CaptureStderr();
    ::testing::internal::CaptureStdout();
    for (const char* name : GetParam().files) {
        const auto whole = read_bytes(golden_path(name));
        for (std::uint32_t seed = 500; seed < 550; ++seed)
            (void)decode(changed(whole, seed, GetParam().name), name, limited());
    }
    EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

INSTANTIATE_TEST_SUITE_P(Formats, Hostile, ::testing::ValuesIn(kFormats),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

TEST(HostileSizes, RequestsForMemoryAreSeen) {
    if (!inkstone::testing::sees_requests()) GTEST_SKIP() << "this build has another allocator";
    largest_request_bytes = 0;
    ASSERT_TRUE(decode_file(golden_path("tiff_rgb_none_strips.tif")).ok());
    EXPECT_GE(largest_request_bytes.load(), 37U * 23 * 3);
    EXPECT_LE(largest_request_bytes.load(), kPictureBytes + kLibraryBytes);
}

TEST(HostileSizes, Png) {
    auto png = read_bytes(golden_path("png_type2_8bit.png"));
    for (const std::size_t offset : {16, 20}) write_number(png, offset, 4, true, 0x7FFFFFFF);
    repair_checksums(png);
    EXPECT_EQ(decode(png, "bomb").error().code, ErrorCode::unsupported);
    for (const std::size_t offset : {16, 20}) write_number(png, offset, 4, true, 12000);
    repair_checksums(png);
    expect_error(decode(png, "bomb"), ErrorCode::malformed, "144000000");

    png = read_bytes(golden_path("png_raw_profile_compressed.png"));
    write_number(png, 33, 4, true, 0x7FFFFFF0);  // the length of the chunk after the header
    expect_error(decode(png, "long chunk"), ErrorCode::malformed, "ends inside a chunk");
}

TEST(HostileSizes, Jpeg) {
    auto jpeg = read_bytes(golden_path("jpeg_422.jpg"));
    const std::byte frame[] = {std::byte{0xFF}, std::byte{0xC0}};
    const auto at = std::search(jpeg.begin(), jpeg.end(), std::begin(frame), std::end(frame));
    write_number(jpeg, static_cast<std::size_t>(at - jpeg.begin()) + 5, 4, true, 12000U << 16 | 12000U);
    expect_error(decode(jpeg, "bomb"), ErrorCode::malformed, "144000000");
}

TEST(HostileSizes, Webp) {
    auto webp = read_bytes(golden_path("webp_animated_alpha_part.webp"));
    write_number(webp, 24, 3, false, 65534);  // the canvas
    write_number(webp, 27, 3, false, 65534);
    expect_error(decode(webp, "bomb"), ErrorCode::unsupported, "65535 x 65535 = 4294836225");
}

TEST(HostileSizes, Bmp) {
    const auto whole = read_bytes(golden_path("bmp_24bit.bmp"));
    auto bmp = whole;
    write_number(bmp, 18, 4, false, 10000);
    write_number(bmp, 22, 4, false, 10000);
    expect_error(decode(bmp, "bomb"), ErrorCode::malformed,
                 "take at least 300000054 bytes, but has " + std::to_string(whole.size()));
    write_number(bmp, 18, 4, false, 0xFFFFFFFF);
    write_number(bmp, 22, 4, false, 0x80000000);
    expect_error(decode(bmp, "bomb"), ErrorCode::unsupported, "4294967295 x 2147483648");
    write_number(bmp, 18, 4, false, 0);
    expect_error(decode(bmp, "empty"), ErrorCode::malformed, "at least 1");
    bmp = whole;
    write_number(bmp, 10, 4, false, 0xFFFFFFFF);
    expect_error(decode(bmp, "offset"), ErrorCode::malformed, "4294967295");
    bmp = whole;
    write_number(bmp, 28, 2, false, 2);
    expect_error(decode(bmp, "bits"), ErrorCode::unsupported, "has 2 bits per pixel");
    bmp = whole;
    write_number(bmp, 30, 4, false, 5);
    expect_error(decode(bmp, "png inside"), ErrorCode::unsupported, "method 5");
    bmp = read_bytes(golden_path("bmp_8bit.bmp"));
    write_number(bmp, 46, 4, false, 0xFFFFFFFF);
    expect_error(decode(bmp, "palette"), ErrorCode::unsupported, "4294967295 colors");
}

TEST(HostileSizes, Pnm) {
    const auto decode_text = [](std::string_view text) { return decode(std::as_bytes(std::span(text)), "text"); };
    expect_error(decode_text("P6 10000 10000 255\nabc"), ErrorCode::malformed, "take at least 300000000 bytes");
    expect_error(decode_text("P5 100000 100000 255\nabc"), ErrorCode::unsupported, "10000000000");
    expect_error(decode_text("P5 99999999999999999999 1 255\nabc"), ErrorCode::malformed, "header");
    expect_error(decode_text("P5 0 1 255\nabc"), ErrorCode::malformed, "at least 1");
    expect_error(decode_text("P5 1 1 65536\nabc"), ErrorCode::malformed, "header");
    expect_error(decode_text("P5 1 1 0\nabc"), ErrorCode::malformed, "header");
    expect_error(decode_text("P2 1 1 15\n16"), ErrorCode::malformed, "pixel (0, 0)");
    expect_error(decode_text("P2 2 1 15\n1 -1"), ErrorCode::malformed, "pixel (1, 0)");
    expect_error(decode_text("P7\nWIDTH 2\nHEIGHT 2\nDEPTH 5\nMAXVAL 255\nENDHDR\n"), ErrorCode::malformed, "header");
    expect_error(decode_text("P7\nWIDTH 2\nHEIGHT"), ErrorCode::malformed, "header");
}

TEST(HostileSizes, Tiff) {
    const auto change = [](const char* file, std::uint64_t tag, std::uint32_t value) {
        auto tiff = read_bytes(golden_path(file));
        change_entry(tiff, tag, value);
        largest_request_bytes = 0;
        auto result = decode(tiff, file);
        EXPECT_LE(largest_request_bytes.load(), kPictureBytes + kLibraryBytes) << file << ", tag " << tag;
        return result;
    };
    constexpr std::uint64_t kWidth = 256, kCompression = 259, kPhotometric = 262, kRowsPerStrip = 278, kPlanar = 284,
                            kTileWidth = 322, kTileHeight = 323;
    expect_error(change("tiff_rgb_II.tif", kWidth, 5000000), ErrorCode::malformed, "take at least 345000000 bytes");
    expect_error(change("tiff_rgb_II.tif", kWidth, 0xFFFFFFF0), ErrorCode::unsupported, "with a side above");
    expect_error(change("tiff_rgb_deflate_tiles.tif", kTileWidth, 0x7FFFFFF0), ErrorCode::unsupported, "2147483632");
    expect_error(change("tiff_rgb_deflate_tiles.tif", kTileHeight, 0x7FFFFFF0), ErrorCode::unsupported, "2147483632");
    EXPECT_FALSE(change("tiff_rgb_deflate_tiles.tif", kTileWidth, 0).ok());
    EXPECT_FALSE(change("tiff_rgb_II.tif", kRowsPerStrip, 0).ok());
    EXPECT_FALSE(change("tiff_rgb_II.tif", kPlanar, 7).ok());
    expect_error(change("tiff_rgb_II.tif", kCompression, 50000), ErrorCode::unsupported, "method 50000");
    expect_error(change("tiff_rgb_II.tif", kPhotometric, 8), ErrorCode::unsupported, "interpretation 8");
}

TEST(HostileSizes, TiffPartsThatShareTheirBytes) {
    // 20 strips of one row, all of which stand for the whole file.
    std::vector<std::byte> tiff(400);
    tiff[0] = tiff[1] = std::byte{'I'};
    write_number(tiff, 2, 2, false, 42);
    write_number(tiff, 4, 4, false, 8);
    const std::uint32_t entries[][4] = {{256, 4, 1, 300}, {257, 4, 1, 20},   {258, 3, 1, 8}, {259, 3, 1, 32773},
                                        {262, 3, 1, 1},   {273, 4, 20, 120}, {278, 4, 1, 1}, {279, 4, 20, 200}};
    write_number(tiff, 8, 2, false, std::size(entries));
    for (std::size_t i = 0; i < std::size(entries); ++i) {
        write_number(tiff, 10 + i * 12, 2, false, entries[i][0]);
        write_number(tiff, 12 + i * 12, 2, false, entries[i][1]);
        write_number(tiff, 14 + i * 12, 4, false, entries[i][2]);
        write_number(tiff, 18 + i * 12, 4, false, entries[i][3]);
    }
    for (std::size_t i = 0; i < 20; ++i) write_number(tiff, 200 + i * 4, 4, false, 400);
    expect_error(decode(tiff, "shared"), ErrorCode::malformed, "claims more bytes for its parts");
}

}  // namespace inkstone::image
