// Orientation of a picture: read from EXIF or XMP bytes (the few bytes of them that matter), and applied to pixels.
// Used by the decoders; follows what Pillow's ImageOps.exif_transpose does.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/result.h"
#include "image/image.h"

namespace inkstone::image {

// Values of the EXIF tag 0x0112: what must be done to the stored pixels to show them.
enum class Orientation {
    upright = 1,
    flip_left_right = 2,
    rotate_180 = 3,
    flip_top_bottom = 4,
    transpose = 5,
    rotate_90_clockwise = 6,
    transverse = 7,
    rotate_90_counterclockwise = 8,
};

// Reads a TIFF structure, with or without the leading "Exif\0\0", in either byte order. Nothing when the first
// directory has no orientation or the bytes are damaged before it; values outside 1..8 mean upright.
std::optional<Orientation> orientation_of_exif(std::span<const std::byte> exif);

// Finds tiff:Orientation, as attribute or element, in an XMP packet.
std::optional<Orientation> orientation_of_xmp(std::span<const std::byte> packet);

// EXIF decides; XMP is asked when EXIF says nothing.
Orientation choose_orientation(std::span<const std::byte> exif, std::span<const std::byte> xmp);

// Moves the pixels; orientations 5 to 8 exchange the sides. Errors: out_of_memory.
Result<Image> orient(Image image, Orientation orientation, const CancelToken* cancel = nullptr);

}  // namespace inkstone::image
