// Patches against the official HunYuanVL image processor, bit for bit.
#include "image/patches.h"

#include <gtest/gtest.h>

#include <cmath>

#include "image/test_support.h"

namespace inkstone::image {

namespace {

Preprocessing clip_preprocessing(int patch_size, int merge_size, std::int64_t min_pixels, std::int64_t max_pixels) {
    return {patch_size,
            merge_size,
            min_pixels,
            max_pixels,
            {0.48145466F, 0.4578275F, 0.40821073F},
            {0.26862954F, 0.26130258F, 0.27577711F}};
}

}  // namespace

TEST(Preprocess, EqualsTheOfficialProcessor) {
    const auto golden = testing::read_golden("patches.json");
    EXPECT_GE(golden.size(), 7U);
    for (const auto& row : golden) {
        const Image image = testing::noise_image(row[0], row[1], row[2]);
        const auto patches = preprocess(image, clip_preprocessing(row[3], row[4], row[5], row[6]));
        ASSERT_TRUE(patches.ok()) << patches.error().text();
        EXPECT_EQ(patches->grid_height, row[7]) << row;
        EXPECT_EQ(patches->grid_width, row[8]) << row;
        EXPECT_EQ(patches->resized_height, patches->grid_height * row[3].get<int>());
        EXPECT_EQ(patches->resized_width, patches->grid_width * row[3].get<int>());
        EXPECT_EQ(patches->source_width, row[0]);
        EXPECT_EQ(patches->source_height, row[1]);
        EXPECT_EQ(testing::crc32(std::as_bytes(std::span(patches->values))), row[9].get<std::uint32_t>()) << row;
    }
}

TEST(Preprocess, A512SquareHas32By32Patches) {
    const auto patches = preprocess(testing::noise_image(512, 512, 1), clip_preprocessing(16, 2, 262144, 16777216));
    ASSERT_TRUE(patches.ok()) << patches.error().text();
    EXPECT_EQ(patches->grid_height, 32);
    EXPECT_EQ(patches->grid_width, 32);
    EXPECT_EQ(patches->values.size(), 32U * 32 * 3 * 16 * 16);
}

TEST(Preprocess, RefusesBadSettings) {
    const Image image = testing::noise_image(64, 64, 1);
    const auto good = clip_preprocessing(16, 2, 1024, 16384);
    const auto subject = [&](auto change) {
        Preprocessing bad = good;
        change(bad);
        const auto result = preprocess(image, bad);
        EXPECT_TRUE(result.ok() || result.error().code == ErrorCode::invalid_argument);
        return result.ok() ? std::string("none") : result.error().subject;
    };
    EXPECT_EQ(subject([](Preprocessing&) {}), "none");
    EXPECT_EQ(subject([](Preprocessing& p) { p.patch_size = 0; }), "patch_size");
    EXPECT_EQ(subject([](Preprocessing& p) { p.merge_size = 1 << 30; }), "merge_size");
    EXPECT_EQ(subject([](Preprocessing& p) { p.std[1] = 0; }), "image_std");
    EXPECT_EQ(subject([](Preprocessing& p) { p.mean[2] = NAN; }), "image_mean");
    EXPECT_EQ(subject([](Preprocessing& p) { p.max_pixels = 5; }), "min_pixels, max_pixels");
    EXPECT_EQ(extract_patches(testing::noise_image(64, 48, 1), good).error().code, ErrorCode::invalid_argument);
}

TEST(Patches, Stop) {
    const CancelToken cancel{true};
    const Preprocessing preprocessing = clip_preprocessing(16, 2, 1, 1 << 20);
    // Of this size already: nothing is resized.
    EXPECT_EQ(preprocess(testing::noise_image(64, 32, 1), preprocessing, &cancel).error().stage, "preprocess image");
    EXPECT_EQ(preprocess(testing::noise_image(70, 41, 1), preprocessing, &cancel).error().code, ErrorCode::cancelled);
}

}  // namespace inkstone::image
