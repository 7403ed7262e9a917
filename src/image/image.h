// The picture as everything after decoding sees it: 8-bit RGB. Made by decode.h or from a caller's pixels; consumed by
// resize.h and patches.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"

namespace inkstone::image {

// Red, green, blue per pixel, rows top to bottom without padding: pixels.size() == width * height * 3.
struct Image {
    int width = 0;
    int height = 0;
    std::vector<std::uint8_t> pixels;

    const std::uint8_t* row(int y) const { return pixels.data() + static_cast<std::size_t>(y) * width * 3; }
    std::uint8_t* row(int y) { return pixels.data() + static_cast<std::size_t>(y) * width * 3; }
};

using Color = std::array<std::uint8_t, 3>;  // red, green, blue
inline constexpr Color kWhite = {255, 255, 255};

// The order of the 8-bit samples of a caller's pixels.
enum class PixelFormat { rgb, bgr, rgba, bgra, gray };

// An image of the given size with all pixels black. Errors: out_of_memory, cancelled.
// Both sides are at least 1; whoever takes them from a file has checked them against a limit.
Result<Image> allocate_image(int width, int height, const CancelToken* cancel = nullptr);

// Copies the caller's pixels. `pixels` points at the top left pixel, rows lie stride_bytes apart (negative: bottom up).
// Alpha (straight, not premultiplied) is composed on `background`.
// Errors: invalid_argument (no pixels, a side below 1, a stride shorter than a row), out_of_memory, cancelled.
Result<Image> from_pixels(const std::uint8_t* pixels, int width, int height, std::ptrdiff_t stride_bytes,
                          PixelFormat format, const Color& background = kWhite, const CancelToken* cancel = nullptr);

// round((color * alpha + background * (255 - alpha)) / 255), in Pillow's integer form of alpha_composite.
inline std::uint8_t compose(unsigned color, unsigned alpha, unsigned background) {
    const unsigned sum = color * alpha + background * (255 - alpha) + 128;
    return static_cast<std::uint8_t>((sum + (sum >> 8)) >> 8);
}

}  // namespace inkstone::image
