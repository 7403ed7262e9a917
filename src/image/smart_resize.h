// The size at which the model sees a picture: sides rounded to whole merged patches, pixel count inside a range, aspect
// ratio kept as closely as that allows. Follows smart_resize of the official HunYuanVL image processor.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace inkstone::image {

struct Size {
    std::int64_t height = 0;  // pixels
    std::int64_t width = 0;   // pixels
    bool operator==(const Size&) const = default;
};

// `factor` is patch_size * merge_size. Both sides of the result are multiples of it, at least one factor each. The
// result may pass max_pixels only where a side is already a single factor.
// Errors: invalid_argument (a number below 1, min_pixels above max_pixels, an area or a limit above 2^53, where the
// reference's own arithmetic stops being exact); unsupported (sides of a ratio above 200 : 1).
Result<Size> smart_resize(Size size, std::int64_t factor, std::int64_t min_pixels, std::int64_t max_pixels);

}  // namespace inkstone::image
