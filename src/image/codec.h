// What decode.cpp and the decoders of single formats share. Private to image/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "image/decode.h"
#include "image/exif.h"

namespace inkstone::image {

inline constexpr std::string_view kDecodeStage = "decode image";

// Pixels as the file stores them, and the orientation that turns them upright.
struct Decoded {
    Image image;
    Orientation orientation = Orientation::upright;
};

Result<Decoded> decode_png(std::span<const std::byte> encoded, std::string_view subject, const DecodeOptions& options);
Result<Decoded> decode_jpeg(std::span<const std::byte> encoded, std::string_view subject, const DecodeOptions& options);
Result<Decoded> decode_webp(std::span<const std::byte> encoded, std::string_view subject, const DecodeOptions& options);
Result<Decoded> decode_tiff(std::span<const std::byte> encoded, std::string_view subject, const DecodeOptions& options);
Result<Decoded> decode_bmp(std::span<const std::byte> encoded, std::string_view subject, const DecodeOptions& options);
Result<Decoded> decode_pnm(std::span<const std::byte> encoded, std::string_view subject, const DecodeOptions& options);

// Why a picture of this size is refused before its pixels are allocated, if it is: it has no pixels, it has more than
// the options allow, options.admit refuses it, or its format cannot store it in fewer than `least_bytes` while the file
// has only `encoded_bytes`. Sides are below 2^32.
std::optional<Error> check_size(std::uint64_t width, std::uint64_t height, std::uint64_t least_bytes,
                                std::uint64_t encoded_bytes, std::string_view subject, const DecodeOptions& options,
                                std::uint64_t working_bytes = 0);

// An error once the work is cancelled.
inline Status check_cancel(std::string_view subject, const DecodeOptions& options) {
    if (cancelled(options.cancel)) return cancelled_error(kDecodeStage, subject);
    return {};
}

inline Error decode_error(ErrorCode code, std::string_view subject, std::string message) {
    return {code, std::string(kDecodeStage), std::string(subject), std::move(message)};
}

// A row of straight (not premultiplied) RGBA, composed on the background.
inline void compose_row(const std::uint8_t* rgba, const Color& background, int width, std::uint8_t* rgb) {
    for (int x = 0; x < width; ++x, rgba += 4, rgb += 3)
        for (int channel = 0; channel < 3; ++channel)
            rgb[channel] = compose(rgba[channel], rgba[3], background[channel]);
}

// What is seen of `light` (white less black ink) through one colored ink, as Pillow converts CMYK to RGB.
inline std::uint8_t light_through_ink(unsigned ink, unsigned light) {
    return static_cast<std::uint8_t>(light - compose(ink, light, 0));
}

}  // namespace inkstone::image
