// Normalisation by table (256 sample values per channel) while samples move from interleaved rows into planar patches.
#include "image/patches.h"

#include <array>
#include <cmath>
#include <new>
#include <string>

#include "image/resize.h"
#include "image/smart_resize.h"

namespace inkstone::image {

namespace {

constexpr std::string_view kStage = "preprocess image";
constexpr int kMaxSide = 1 << 15;  // of a patch or a merge block: keeps products of sides inside 64 bits

Error invalid(std::string subject, std::string message) {
    return {ErrorCode::invalid_argument, std::string(kStage), std::move(subject), std::move(message)};
}

Status check(const Preprocessing& preprocessing) {
    if (preprocessing.patch_size < 1 || preprocessing.patch_size > kMaxSide)
        return invalid("patch_size", "is " + std::to_string(preprocessing.patch_size) + ", but must lie in 1 to " +
                                         std::to_string(kMaxSide));
    if (preprocessing.merge_size < 1 || preprocessing.merge_size > kMaxSide / preprocessing.patch_size)
        return invalid("merge_size", "is " + std::to_string(preprocessing.merge_size) + ", but must lie in 1 to " +
                                         std::to_string(kMaxSide / preprocessing.patch_size));
    for (int channel = 0; channel < 3; ++channel) {
        if (!std::isfinite(preprocessing.mean[channel]))
            return invalid("image_mean", "value " + std::to_string(channel) + " is not a finite number");
        if (!std::isfinite(preprocessing.std[channel]) || preprocessing.std[channel] <= 0)
            return invalid("image_std", "value " + std::to_string(channel) + " is " +
                                            std::to_string(preprocessing.std[channel]) + ", but must be above 0");
    }
    return {};
}

std::string subject_of(const Image& image) {
    return std::to_string(image.width) + " x " + std::to_string(image.height) + " pixels";
}

using Table = std::array<float, 256>;

Table normalized_values(float mean, float std) {
    Table table;
    for (int value = 0; value < 256; ++value) {
        const auto scaled = static_cast<float>(value * (1.0 / 255.0));
        table[value] = (scaled - mean) / std;
    }
    return table;
}

}  // namespace

Result<Patches> extract_patches(const Image& image, const Preprocessing& preprocessing, const CancelToken* cancel) try {
    INKSTONE_CHECK(check(preprocessing));
    const int patch_size = preprocessing.patch_size;
    const int block = patch_size * preprocessing.merge_size;
    if (image.width < 1 || image.height < 1 || image.width % block != 0 || image.height % block != 0)
        return invalid(subject_of(image),
                       "the sides must be multiples of patch_size * merge_size = " + std::to_string(block));

    Patches patches;
    patches.grid_height = image.height / patch_size;
    patches.grid_width = image.width / patch_size;
    patches.resized_height = patches.source_height = image.height;
    patches.resized_width = patches.source_width = image.width;
    patches.values.resize(image.pixels.size());

    const std::size_t plane = static_cast<std::size_t>(patch_size) * patch_size;
    for (int channel = 0; channel < 3; ++channel) {
        const Table table = normalized_values(preprocessing.mean[channel], preprocessing.std[channel]);
        for (int y = 0; y < image.height; ++y) {
            if (cancelled(cancel)) return cancelled_error(kStage, subject_of(image));
            const std::uint8_t* from = image.row(y) + channel;
            const std::size_t first_patch = static_cast<std::size_t>(y / patch_size) * patches.grid_width;
            float* to = patches.values.data() + first_patch * plane * 3 + channel * plane +
                        static_cast<std::size_t>(y % patch_size) * patch_size;
            for (int column = 0; column < patches.grid_width; ++column, to += plane * 3)
                for (int x = 0; x < patch_size; ++x, from += 3) to[x] = table[*from];
        }
    }
    return patches;
} catch (const std::bad_alloc&) {
    return Error{ErrorCode::out_of_memory, std::string(kStage), subject_of(image),
                 "there is no memory for its patches (12 bytes per pixel): lower max_pixels"};
}

Result<Patches> preprocess(Image image, const Preprocessing& preprocessing, const CancelToken* cancel) {
    INKSTONE_CHECK(check(preprocessing));
    INKSTONE_TRY(const Size size, smart_resize({image.height, image.width},
                                               std::int64_t{preprocessing.patch_size} * preprocessing.merge_size,
                                               preprocessing.min_pixels, preprocessing.max_pixels));
    if (size.width > kMaxResizeSide || size.height > kMaxResizeSide)
        return invalid(
            std::to_string(size.width) + " x " + std::to_string(size.height) + " pixels",
            "the resized picture has a side above " + std::to_string(kMaxResizeSide) + " pixels: lower min_pixels");
    INKSTONE_TRY(const Image resized,
                 resize_bicubic(image, static_cast<int>(size.width), static_cast<int>(size.height), cancel));
    image.pixels = {};  // before the patches, which take four times the resized picture
    INKSTONE_TRY(Patches patches, extract_patches(resized, preprocessing, cancel));
    patches.source_height = image.height;
    patches.source_width = image.width;
    return patches;
}

}  // namespace inkstone::image
