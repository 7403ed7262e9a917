// Encoded bytes or a file in, upright RGB pixels out: the first stage of reading a page. The format is told from the
// bytes, never from a name. Pixels equal those of Pillow followed by ImageOps.exif_transpose; see docs/images.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

#include "base/cancel.h"
#include "base/result.h"
#include "image/image.h"

namespace inkstone::image {

// What decoding will hold at one time.
struct DecodeDemand {
    std::uint64_t width = 0, height = 0;  // as the header states them; which way up they are meant is not known yet
    std::uint64_t encoded_bytes = 0;      // the picture as it came
    std::uint64_t working_bytes = 0;      // beside these and the RGB pixels: coefficients, layers, a turned copy
};

struct DecodeOptions {
    // Pictures with more pixels are refused before their pixels are allocated. The default is Pillow's.
    std::uint64_t max_pixels = 178'956'970;
    // Files with more bytes are refused before they are read.
    std::uint64_t max_file_bytes = std::uint64_t{1} << 30;
    // What shows through transparent pixels.
    Color background = kWhite;
    // Asked before a file is read (its encoded_bytes alone are known then), before a picture's pixels are allocated,
    // and before a turned copy of them is made; an error ends decoding. Empty: everything fits.
    std::function<Status(const DecodeDemand&)> admit;
    // Looked at while the file is read, between rows, scans and parts of the picture, and while it is turned.
    const CancelToken* cancel = nullptr;
};

// Decodes PNG, JPEG, WebP (of an animation the first frame), TIFF (the first page), BMP and PNM, in the kinds that
// docs/images.md lists, composes alpha on the background and turns the picture upright by its EXIF, TIFF or XMP
// orientation. `subject` names the picture in errors. Safe to call from several threads.
// Errors: malformed (damaged, cut short, empty), unsupported (another format, which the message names, or more than
// max_pixels), out_of_memory, cancelled, that of admit.
Result<Image> decode(std::span<const std::byte> encoded, std::string_view subject, const DecodeOptions& options = {});

// Reads a regular file and decodes it. Errors: those of decode; not_found; io; malformed (more than max_file_bytes).
Result<Image> decode_file(const std::filesystem::path& path, const DecodeOptions& options = {});

}  // namespace inkstone::image
