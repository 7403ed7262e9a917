// Image storage, and images made from pixels that a caller already holds.
#include "image/image.h"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>

namespace inkstone::image {

namespace {

// Where a format keeps its samples inside one pixel; alpha is -1 when there is none.
struct SampleLayout {
    int bytes_per_pixel;
    int red;
    int green;
    int blue;
    int alpha;
};

SampleLayout layout_of(PixelFormat format) {
    switch (format) {
        case PixelFormat::rgb:
            return {3, 0, 1, 2, -1};
        case PixelFormat::bgr:
            return {3, 2, 1, 0, -1};
        case PixelFormat::rgba:
            return {4, 0, 1, 2, 3};
        case PixelFormat::bgra:
            return {4, 2, 1, 0, 3};
        case PixelFormat::gray:
            return {1, 0, 0, 0, -1};
    }
    return {0, 0, 0, 0, -1};
}

constexpr std::string_view kPixelStage = "image from pixels";

Error invalid(std::string message) {
    return {ErrorCode::invalid_argument, std::string(kPixelStage), "pixels", std::move(message)};
}

// The system finds memory when it is first written to: half a gigabyte takes longer than a caller who stops will wait.
constexpr std::size_t kBytesBetweenLooks = std::size_t{8} << 20;

}  // namespace

Result<Image> allocate_image(int width, int height, const CancelToken* cancel) {
    Image image{width, height, {}};
    const std::size_t bytes = static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3;
    const auto subject = [&] { return std::to_string(width) + " x " + std::to_string(height) + " pixels"; };
    try {
        image.pixels.reserve(bytes);
        while (image.pixels.size() < bytes) {
            if (cancelled(cancel)) return cancelled_error("image", subject());
            image.pixels.resize(std::min(bytes, image.pixels.size() + kBytesBetweenLooks));
        }
    } catch (const std::bad_alloc&) {
        image.pixels.clear();
    } catch (const std::length_error&) {
        image.pixels.clear();
    }
    if (image.pixels.empty())
        return Error{ErrorCode::out_of_memory, "image", subject(),
                     "there is no memory for the pixels of the picture: scale it down, or free some memory"};
    return image;
}

Result<Image> from_pixels(const std::uint8_t* pixels, int width, int height, std::ptrdiff_t stride_bytes,
                          PixelFormat format, const Color& background, const CancelToken* cancel) {
    const SampleLayout layout = layout_of(format);
    if (layout.bytes_per_pixel == 0) return invalid("the pixel format is none of rgb, bgr, rgba, bgra, gray");
    if (pixels == nullptr) return invalid("the pointer to the pixels is null");
    if (width < 1 || height < 1)
        return invalid("the size is " + std::to_string(width) + " x " + std::to_string(height) +
                       ", but each side must be at least 1 pixel");
    const std::int64_t row_bytes = std::int64_t{width} * layout.bytes_per_pixel;
    if (stride_bytes < row_bytes && stride_bytes > -row_bytes)
        return invalid("the stride is " + std::to_string(stride_bytes) + " bytes, but a row has " +
                       std::to_string(row_bytes) + " bytes");

    INKSTONE_TRY(Image image, allocate_image(width, height, cancel));
    for (int y = 0; y < height; ++y) {
        if (cancelled(cancel)) return cancelled_error(kPixelStage, "pixels");
        const std::uint8_t* from = pixels + y * stride_bytes;
        std::uint8_t* to = image.row(y);
        for (int x = 0; x < width; ++x, from += layout.bytes_per_pixel, to += 3) {
            to[0] = from[layout.red];
            to[1] = from[layout.green];
            to[2] = from[layout.blue];
            if (layout.alpha < 0) continue;
            for (int channel = 0; channel < 3; ++channel)
                to[channel] = compose(to[channel], from[layout.alpha], background[channel]);
        }
    }
    return image;
}

}  // namespace inkstone::image
