// BMP, read by hand: Windows headers of version 2 to 5 and OS/2's, 1 to 32 bits per pixel, run lengths, bit masks, both
// row orders. Reads what Pillow reads, and any contiguous bit masks.
#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "base/checked.h"
#include "image/codec.h"

namespace inkstone::image {

namespace {

constexpr std::size_t kFileHeaderBytes = 14;
constexpr std::uint32_t kOs2HeaderBytes = 12;
constexpr std::uint32_t kInfoHeaderBytes = 40;

enum class Compression : std::uint32_t { none = 0, run_length_8 = 1, run_length_4 = 2, bit_masks = 3 };

// Where a color or alpha lies in the bits of a pixel.
struct Mask {
    unsigned shift = 0;
    std::uint32_t top = 0;  // the largest value

    std::uint8_t sample(std::uint32_t pixel) const {
        const std::uint32_t value = pixel >> shift & top;
        if (top == 255 || top == 0) return static_cast<std::uint8_t>(value);  // most pictures: no division
        return static_cast<std::uint8_t>(std::uint64_t{value} * 255 / top);
    }
};

struct Header {
    std::uint64_t width = 0, height = 0;
    bool top_down = false;
    unsigned bits = 0;  // per pixel
    Compression compression = Compression::none;
    std::array<Mask, 4> masks;  // red, green, blue, alpha; of 16 bits and more
    bool has_alpha = false;
    std::array<Color, 256> palette = {};  // of up to 8 bits; entries that the file lacks are black
    std::uint64_t pixel_offset = 0;

    std::uint64_t row_bytes() const { return (width * bits + 31) / 32 * 4; }
};

Error malformed(std::string_view subject, const std::string& reason) {
    return decode_error(ErrorCode::malformed, subject, "the BMP file " + reason + "; the file is cut short or damaged");
}

Error unsupported(std::string_view subject, const std::string& reason) {
    return decode_error(ErrorCode::unsupported, subject,
                        "the BMP file " + reason + "; convert it to PNG or JPEG first");
}

// A little-endian number that lies inside the bytes.
std::uint32_t number(std::span<const std::byte> bytes, std::size_t offset, std::size_t width_bytes) {
    std::uint32_t value = 0;
    for (std::size_t i = width_bytes; i-- > 0;) value = value << 8 | std::to_integer<std::uint32_t>(bytes[offset + i]);
    return value;
}

// Nothing when the set bits are not side by side.
std::optional<Mask> mask_of(std::uint32_t bits) {
    if (bits == 0) return Mask{};
    const auto shift = static_cast<unsigned>(std::countr_zero(bits));
    const std::uint32_t top = bits >> shift;
    if ((top & (top + 1)) != 0) return std::nullopt;
    return Mask{shift, top};
}

// The masks stand in the header from its version 2 on, else behind it.
Result<void> read_masks(std::span<const std::byte> encoded, std::uint32_t header_bytes, std::string_view subject,
                        Header& header) {
    constexpr std::size_t kMasksOffset = kFileHeaderBytes + kInfoHeaderBytes;
    constexpr std::array<std::uint32_t, 3> kMasks15 = {0x7C00, 0x3E0, 0x1F};
    constexpr std::array<std::uint32_t, 3> kMasks24 = {0xFF0000, 0xFF00, 0xFF};
    std::array<std::uint32_t, 4> bits = {};
    if (header.compression == Compression::none) {
        const auto& usual = header.bits == 16 ? kMasks15 : kMasks24;
        std::copy(usual.begin(), usual.end(), bits.begin());
    } else {
        const std::size_t count = header_bytes >= 56 && header.bits == 32 ? 4 : 3;
        if (!range_inside(kMasksOffset, count * 4, encoded.size()))
            return malformed(subject, "ends before its bit masks, after " + std::to_string(encoded.size()) + " bytes");
        for (std::size_t i = 0; i < count; ++i) bits[i] = number(encoded, kMasksOffset + i * 4, 4);
        const bool all_zero = bits == std::array<std::uint32_t, 4>{};
        if (all_zero && header.bits == 32) bits = {0xFF0000, 0xFF00, 0xFF, 0xFF000000};
        if (all_zero && header.bits < 32) return unsupported(subject, "has no bits in its color masks");
    }
    for (std::size_t i = 0; i < bits.size(); ++i) {
        const auto mask = mask_of(bits[i]);
        if (!mask) return unsupported(subject, "has a bit mask with holes (" + std::to_string(bits[i]) + ")");
        header.masks[i] = *mask;
    }
    header.has_alpha = bits[3] != 0;
    return {};
}

Result<Header> read_header(std::span<const std::byte> encoded, std::string_view subject) {
    const auto ends_early = [&] {
        return malformed(subject, "ends inside its header, after " + std::to_string(encoded.size()) + " bytes");
    };
    if (encoded.size() < kFileHeaderBytes + 4) return ends_early();
    const std::uint32_t header_bytes = number(encoded, kFileHeaderBytes, 4);
    constexpr std::uint32_t kKnownHeaders[] = {kOs2HeaderBytes, kInfoHeaderBytes, 52, 56, 64, 108, 124};
    if (std::find(std::begin(kKnownHeaders), std::end(kKnownHeaders), header_bytes) == std::end(kKnownHeaders))
        return unsupported(subject, "has a header of " + std::to_string(header_bytes) +
                                        " bytes, where 12, 40, 52, 56, 64, 108 or 124 are known");
    if (!range_inside(kFileHeaderBytes, header_bytes, encoded.size())) return ends_early();

    Header header;
    const auto info = encoded.subspan(kFileHeaderBytes, header_bytes);
    std::uint64_t colors = 0;
    std::uint32_t compression = 0;
    if (header_bytes == kOs2HeaderBytes) {
        header.width = number(info, 4, 2);
        header.height = number(info, 6, 2);
        header.bits = number(info, 10, 2);
    } else {
        header.width = number(info, 4, 4);
        const auto height = static_cast<std::int32_t>(number(info, 8, 4));
        header.top_down = height < 0;
        header.height = static_cast<std::uint64_t>(height < 0 ? -std::int64_t{height} : std::int64_t{height});
        header.bits = number(info, 14, 2);
        compression = number(info, 16, 4);
        colors = number(info, 32, 4);
    }
    constexpr unsigned kKnownBits[] = {1, 4, 8, 16, 24, 32};
    if (std::find(std::begin(kKnownBits), std::end(kKnownBits), header.bits) == std::end(kKnownBits))
        return unsupported(
            subject, "has " + std::to_string(header.bits) + " bits per pixel, where 1, 4, 8, 16, 24 or 32 are known");
    header.compression = static_cast<Compression>(compression);
    const bool known = compression == 0 || (compression == 1 && header.bits == 8) ||
                       (compression == 2 && header.bits == 4) ||
                       (compression == 3 && header.bits >= 16 && header_bytes != 64);  // OS/2 means Huffman by 3
    if (!known)
        return unsupported(subject, "is compressed by method " + std::to_string(compression) + " at " +
                                        std::to_string(header.bits) + " bits per pixel");

    std::uint64_t after = kFileHeaderBytes + header_bytes;
    header.pixel_offset = number(encoded, 10, 4);
    if (header.bits >= 16) {
        INKSTONE_CHECK(read_masks(encoded, header_bytes, subject, header));
        if (compression == 3 && header_bytes == kInfoHeaderBytes) after += 12;
    } else {
        const std::size_t entry_bytes = header_bytes == kOs2HeaderBytes ? 3 : 4;
        if (colors == 0) colors = std::uint64_t{1} << header.bits;
        if (colors > 256)
            return unsupported(subject, "has a palette of " + std::to_string(colors) + " colors, more than 256");
        for (std::uint64_t i = 0; i < colors && range_inside(after, entry_bytes, encoded.size()); ++i) {
            for (std::size_t channel = 0; channel < 3; ++channel)  // blue comes first
                header.palette[i][channel] = std::to_integer<std::uint8_t>(encoded[after + 2 - channel]);
            after += entry_bytes;
        }
        // Some writers let the offset point at the palette.
        if (header.pixel_offset == kFileHeaderBytes + header_bytes) header.pixel_offset = after;
    }
    if (header.pixel_offset == 0) header.pixel_offset = after;
    if (header.pixel_offset > encoded.size())
        return malformed(subject, "has its pixels at byte " + std::to_string(header.pixel_offset) + ", but only " +
                                      std::to_string(encoded.size()) + " bytes");
    return header;
}

std::uint8_t* target_row(const Header& header, Image& image, int row) {
    return image.row(header.top_down ? row : image.height - 1 - row);
}

void put(const Color& color, std::uint8_t*& rgb) { rgb = std::copy(color.begin(), color.end(), rgb); }

// Rows as they stand in the file, all of whose bytes are there.
Status decode_rows(std::span<const std::byte> pixels, std::string_view subject, const Header& header,
                   const DecodeOptions& options, Image& image) {
    const std::uint64_t row_bytes = header.row_bytes();
    const std::size_t pixel_bytes = header.bits / 8;
    for (int y = 0; y < image.height; ++y) {
        INKSTONE_CHECK(check_cancel(subject, options));
        const auto row = pixels.subspan(static_cast<std::size_t>(y) * row_bytes, row_bytes);
        std::uint8_t* rgb = target_row(header, image, y);
        for (std::size_t x = 0; x < header.width; ++x) {
            if (header.bits <= 8) {
                const std::size_t at = x * header.bits;
                const unsigned byte = std::to_integer<unsigned>(row[at / 8]);
                put(header.palette[byte >> (8 - header.bits - at % 8) & ((1U << header.bits) - 1)], rgb);
                continue;
            }
            const std::uint32_t pixel = number(row, x * pixel_bytes, pixel_bytes);
            const unsigned alpha = header.has_alpha ? header.masks[3].sample(pixel) : 255;
            for (std::size_t channel = 0; channel < 3; ++channel)
                *rgb++ = compose(header.masks[channel].sample(pixel), alpha, options.background[channel]);
        }
    }
    return {};
}

// Run lengths: pairs of bytes, (count, value) or an escape. What is left out has the palette's first color. An
// error when the data ends before the end mark and before the last row is full.
Status decode_runs(std::span<const std::byte> rest, std::string_view subject, const Header& header,
                   const DecodeOptions& options, Image& image) {
    const auto ends_early = [&, bytes = header.pixel_offset + rest.size()] {
        return malformed(subject, "ends before its last row, after " + std::to_string(bytes) + " bytes");
    };
    for (int y = 0; y < image.height; ++y) {
        INKSTONE_CHECK(check_cancel(subject, options));
        std::uint8_t* rgb = image.row(y);
        for (int x = 0; x < image.width; ++x) put(header.palette[0], rgb);
    }
    const bool nibbles = header.compression == Compression::run_length_4;
    int x = 0, y = 0;
    // Pixels beyond the end of the row are dropped.
    const auto put_pixel = [&](unsigned value) {
        if (x >= image.width || y >= image.height) return;
        std::uint8_t* rgb = target_row(header, image, y) + std::size_t{3} * x++;
        put(header.palette[value], rgb);
    };
    const auto complete = [&] { return y >= image.height || (y == image.height - 1 && x >= image.width); };
    while (!complete()) {
        INKSTONE_CHECK(check_cancel(subject, options));
        if (rest.size() < 2) return ends_early();
        const unsigned count = std::to_integer<unsigned>(rest[0]), value = std::to_integer<unsigned>(rest[1]);
        rest = rest.subspan(2);
        if (count > 0) {
            for (unsigned i = 0; i < count; ++i) put_pixel(!nibbles ? value : i % 2 == 0 ? value >> 4 : value & 15);
        } else if (value == 0) {  // end of the row
            x = 0;
            ++y;
        } else if (value == 1) {  // end of the picture
            return {};
        } else if (value == 2) {  // a jump to the right and to later rows
            if (rest.size() < 2) return ends_early();
            x = std::min(image.width, x + std::to_integer<int>(rest[0]));
            y = std::min(image.height, y + std::to_integer<int>(rest[1]));
            rest = rest.subspan(2);
        } else {  // that many pixels one by one, padded to 16 bits
            const std::size_t bytes = nibbles ? (value + 1) / 2 : value;
            if (bytes > rest.size()) return ends_early();
            for (unsigned i = 0; i < value; ++i) {
                const unsigned byte = std::to_integer<unsigned>(rest[nibbles ? i / 2 : i]);
                put_pixel(!nibbles ? byte : i % 2 == 0 ? byte >> 4 : byte & 15);
            }
            rest = rest.subspan(std::min(rest.size(), bytes + bytes % 2));
        }
    }
    return {};
}

}  // namespace

Result<Decoded> decode_bmp(std::span<const std::byte> encoded, std::string_view subject, const DecodeOptions& options) {
    INKSTONE_TRY(const Header header, read_header(encoded, subject));
    const bool runs =
        header.compression == Compression::run_length_8 || header.compression == Compression::run_length_4;
    // Sides of at most 32 bits: the sum may pass 64 bits only where max_pixels refuses first. Run lengths may leave
    // out any number of pixels: they have no least size.
    if (auto error = check_size(header.width, header.height, 0, encoded.size(), subject, options)) return *error;
    const std::uint64_t least_bytes = runs ? 0 : header.pixel_offset + header.row_bytes() * header.height;
    if (auto error = check_size(header.width, header.height, least_bytes, encoded.size(), subject, options))
        return *error;

    INKSTONE_TRY(Image image,
                 allocate_image(static_cast<int>(header.width), static_cast<int>(header.height), options.cancel));
    const auto pixels = encoded.subspan(header.pixel_offset);
    INKSTONE_CHECK((runs ? decode_runs : decode_rows)(pixels, subject, header, options, image));
    return Decoded{std::move(image)};
}

}  // namespace inkstone::image
