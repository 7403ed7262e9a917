// Orientation from EXIF and XMP. The bytes are hostile: offsets are checked by subtraction before each read.
#include "image/exif.h"

#include <cstdint>
#include <string_view>

#include "base/checked.h"

namespace inkstone::image {

namespace {

constexpr std::uint64_t kOrientationTag = 0x0112;
constexpr std::uint64_t kTypeShort = 3;
constexpr std::uint64_t kTypeLong = 4;
constexpr std::size_t kEntryBytes = 12;

Orientation from_value(std::uint64_t value) {
    return value >= 1 && value <= 8 ? static_cast<Orientation>(value) : Orientation::upright;
}

// Unsigned integers of a TIFF structure; nothing when they lie outside it.
class TiffBytes {
public:
    TiffBytes(std::span<const std::byte> bytes, bool big_endian) : bytes_(bytes), big_endian_(big_endian) {}

    std::optional<std::uint64_t> read(std::uint64_t offset, std::size_t width_bytes) const {
        if (!range_inside(offset, width_bytes, bytes_.size())) return std::nullopt;
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < width_bytes; ++i) {
            const std::size_t at = offset + (big_endian_ ? i : width_bytes - 1 - i);
            value = value << 8 | std::to_integer<std::uint64_t>(bytes_[at]);
        }
        return value;
    }

private:
    std::span<const std::byte> bytes_;
    bool big_endian_;
};

std::string_view as_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The first value of an orientation entry: inside the entry when all values fit into 4 bytes, else where it points.
std::optional<std::uint64_t> entry_value(const TiffBytes& tiff, std::uint64_t entry) {
    const auto type = tiff.read(entry + 2, 2);
    const auto count = tiff.read(entry + 4, 4);
    if (!type || !count || *count == 0 || (*type != kTypeShort && *type != kTypeLong)) return std::nullopt;
    const std::size_t width_bytes = *type == kTypeShort ? 2 : 4;
    if (*count * width_bytes <= 4) return tiff.read(entry + 8, width_bytes);
    const auto offset = tiff.read(entry + 8, 4);
    return offset ? tiff.read(*offset, width_bytes) : std::nullopt;
}

}  // namespace

std::optional<Orientation> orientation_of_exif(std::span<const std::byte> exif) {
    constexpr std::string_view kPrefix("Exif\0\0", 6);
    for (int repeats = 0; repeats < 2 && as_text(exif).starts_with(kPrefix); ++repeats)
        exif = exif.subspan(kPrefix.size());
    const std::string_view byte_order = as_text(exif).substr(0, 2);
    if (byte_order != "II" && byte_order != "MM") return std::nullopt;
    const TiffBytes tiff(exif, byte_order == "MM");
    const auto directory = tiff.read(4, 4);
    if (tiff.read(2, 2) != 42U || !directory) return std::nullopt;
    const auto entries = tiff.read(*directory, 2);
    if (!entries) return std::nullopt;

    std::optional<Orientation> found;
    for (std::uint64_t i = 0; i < *entries; ++i) {
        const std::uint64_t entry = *directory + 2 + i * kEntryBytes;
        const auto tag = tiff.read(entry, 2);
        if (!tag) break;
        if (*tag != kOrientationTag) continue;
        if (const auto value = entry_value(tiff, entry)) found = from_value(*value);  // the last one counts
    }
    return found;
}

std::optional<Orientation> orientation_of_xmp(std::span<const std::byte> packet) {
    constexpr std::string_view kName = "tiff:Orientation";
    const std::string_view text = as_text(packet);
    for (std::size_t at = text.find(kName); at != std::string_view::npos; at = text.find(kName, at + 1)) {
        std::string_view rest = text.substr(at + kName.size());
        if (rest.starts_with("=\""))
            rest.remove_prefix(2);
        else if (rest.starts_with('>'))
            rest.remove_prefix(1);
        else
            continue;
        if (!rest.empty() && rest[0] >= '0' && rest[0] <= '9')
            return from_value(static_cast<std::uint64_t>(rest[0] - '0'));
    }
    return std::nullopt;
}

Orientation choose_orientation(std::span<const std::byte> exif, std::span<const std::byte> xmp) {
    if (const auto orientation = orientation_of_exif(exif)) return *orientation;
    return orientation_of_xmp(xmp).value_or(Orientation::upright);
}

Result<Image> orient(Image image, Orientation orientation, const CancelToken* cancel) {
    if (orientation == Orientation::upright) return image;
    const bool exchange = orientation >= Orientation::transpose;
    const std::ptrdiff_t width = image.width, height = image.height;
    INKSTONE_TRY(Image turned, exchange ? allocate_image(image.height, image.width, cancel)
                                        : allocate_image(image.width, image.height, cancel));

    // The source pixel of target (0, 0), and the steps in the source for one step right and one step down.
    const std::ptrdiff_t last_column = width - 1, last_row = (height - 1) * width;
    std::ptrdiff_t origin = 0, right = 1, down = width;
    switch (orientation) {
        case Orientation::upright:
            break;
        case Orientation::flip_left_right:
            origin = last_column, right = -1;
            break;
        case Orientation::rotate_180:
            origin = last_row + last_column, right = -1, down = -width;
            break;
        case Orientation::flip_top_bottom:
            origin = last_row, down = -width;
            break;
        case Orientation::transpose:
            right = width, down = 1;
            break;
        case Orientation::rotate_90_clockwise:
            origin = last_row, right = -width, down = 1;
            break;
        case Orientation::transverse:
            origin = last_row + last_column, right = -width, down = -1;
            break;
        case Orientation::rotate_90_counterclockwise:
            origin = last_column, right = width, down = -1;
            break;
    }
    for (int y = 0; y < turned.height; ++y) {
        if (cancelled(cancel))
            return cancelled_error("turn image", std::to_string(width) + " x " + std::to_string(height) + " pixels");
        std::ptrdiff_t source = origin + y * down;
        std::uint8_t* to = turned.row(y);
        for (int x = 0; x < turned.width; ++x, source += right, to += 3) {
            const std::uint8_t* from = image.pixels.data() + source * 3;
            to[0] = from[0], to[1] = from[1], to[2] = from[2];
        }
    }
    return turned;
}

}  // namespace inkstone::image
