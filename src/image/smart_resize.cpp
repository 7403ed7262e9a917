// Arithmetic in double, as Python's true division and math.sqrt compute it; rounding is half to even, as Python's
// round.
#include "image/smart_resize.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

namespace inkstone::image {

namespace {

constexpr std::int64_t kExactLimit = std::int64_t{1} << 53;
constexpr std::int64_t kMaxFactor = std::int64_t{1} << 20;
constexpr double kMaxAspectRatio = 200.0;

Error invalid(std::string subject, std::string message) {
    return {ErrorCode::invalid_argument, "resize image", std::move(subject), std::move(message)};
}

std::string text_of(Size size) { return std::to_string(size.width) + " x " + std::to_string(size.height) + " pixels"; }

std::int64_t round_half_to_even(double value) {
    const double below = std::floor(value);
    const double fraction = value - below;
    const auto integer = static_cast<std::int64_t>(below);
    if (fraction != 0.5) return fraction < 0.5 ? integer : integer + 1;
    return integer + (integer & 1);
}

}  // namespace

Result<Size> smart_resize(Size size, std::int64_t factor, std::int64_t min_pixels, std::int64_t max_pixels) {
    if (size.height < 1 || size.width < 1)
        return invalid(text_of(size), "each side of a picture must be at least 1 pixel");
    if (factor < 1 || factor > kMaxFactor)
        return invalid("patch_size * merge_size",
                       "is " + std::to_string(factor) + ", but must lie in 1 to " + std::to_string(kMaxFactor));
    if (min_pixels < 1 || max_pixels > kExactLimit || min_pixels > max_pixels)
        return invalid("min_pixels, max_pixels", "are " + std::to_string(min_pixels) + " and " +
                                                     std::to_string(max_pixels) + ", but must lie in 1 to " +
                                                     std::to_string(kExactLimit) + " and be in rising order");
    if (size.height > kExactLimit / size.width) return invalid(text_of(size), "the picture has more than 2^53 pixels");

    const auto height = static_cast<double>(size.height), width = static_cast<double>(size.width);
    const double ratio = std::max(height, width) / std::min(height, width);
    if (ratio > kMaxAspectRatio) {
        char number[32];
        std::snprintf(number, sizeof number, "%.2f", ratio);
        return Error{ErrorCode::unsupported, "resize image", text_of(size),
                     "the sides have a ratio of " + std::string(number) +
                         " : 1, but the model reads at most 200 : 1; cut the picture into parts"};
    }

    const auto unit = static_cast<double>(factor);
    Size result{round_half_to_even(height / unit) * factor, round_half_to_even(width / unit) * factor};
    const double area = height * width;
    // The product fits: at 200 : 1 a side of an area of 2^53 stays below 2^31, and rounding adds less than a factor.
    if (result.height * result.width > max_pixels) {
        const double beta = std::sqrt(area / static_cast<double>(max_pixels));
        result.height = std::max(factor, static_cast<std::int64_t>(std::floor(height / beta / unit)) * factor);
        result.width = std::max(factor, static_cast<std::int64_t>(std::floor(width / beta / unit)) * factor);
    } else if (result.height * result.width < min_pixels) {
        const double beta = std::sqrt(static_cast<double>(min_pixels) / area);
        result.height = static_cast<std::int64_t>(std::ceil(height * beta / unit)) * factor;
        result.width = static_cast<std::int64_t>(std::ceil(width * beta / unit)) * factor;
    }
    return result;
}

}  // namespace inkstone::image
