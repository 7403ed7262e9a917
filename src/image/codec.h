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

// Why a picture of this size is refused, if it is: too many pixels, or more pixels than `encoded_bytes` can hold when
// each byte makes at most `max_pixels_per_byte` (0: no such bound).
std::optional<Error> check_size(std::uint64_t width, std::uint64_t height, std::uint64_t encoded_bytes,
                                std::uint64_t max_pixels_per_byte, std::string_view subject,
                                const DecodeOptions& options);

inline Error decode_error(ErrorCode code, std::string_view subject, std::string message) {
    return {code, std::string(kDecodeStage), std::string(subject), std::move(message)};
}

}  // namespace inkstone::image
