// Pixels to the vision tower's input: smart resize, then normalised float patches. Equals the official HunYuanVL image
// processor (PIL backend) bit for bit. Called by runtime/ for each picture of a prompt.
#pragma once

#include <cstdint>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "image/image.h"

namespace inkstone::image {

// The fields of a package's preprocessor_config.json that change pixels. No defaults that a model does not set.
struct Preprocessing {
    int patch_size = 0;  // pixels
    int merge_size = 0;  // patches per side of one visual token
    std::int64_t min_pixels = 0;
    std::int64_t max_pixels = 0;
    float mean[3] = {};  // red, green, blue, of samples scaled to 0..1
    float std[3] = {};
};

struct Patches {
    int grid_height = 0;  // patches, a multiple of merge_size
    int grid_width = 0;
    int resized_height = 0;  // pixels that the model sees
    int resized_width = 0;
    int source_height = 0;  // pixels of the upright picture
    int source_width = 0;
    // [grid_height * grid_width, 3 * patch_size * patch_size]: patches row by row, inside a patch (channel, y, x).
    std::vector<float> values;
};

// The patches of an image whose sides are multiples of patch_size * merge_size. Sizes of the source are the image's.
// A value is (float32(v * (1 / 255)) - mean) / std: the product in double, the rest in float32.
// Errors: invalid_argument (preprocessing, sides), out_of_memory, cancelled.
Result<Patches> extract_patches(const Image& image, const Preprocessing& preprocessing,
                                const CancelToken* cancel = nullptr);

// smart_resize, bicubic resize, extract_patches. Takes the picture, so that its pixels are freed as soon as they are
// resized. Errors: those of the three.
Result<Patches> preprocess(Image image, const Preprocessing& preprocessing, const CancelToken* cancel = nullptr);

}  // namespace inkstone::image
