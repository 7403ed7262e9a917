// Tells the format from the first bytes, calls its decoder, and turns the picture upright.
#include "image/decode.h"

#include <array>
#include <limits>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "base/mapped_file.h"
#include "image/codec.h"

namespace inkstone::image {

namespace {

constexpr std::string_view kConvert = "; convert it to PNG or JPEG first";

// A format that is known but not decoded: `magic` stands at `offset`.
struct KnownFormat {
    std::size_t offset;
    std::string_view magic;
    std::string_view name;
    std::string_view remedy;
};

constexpr KnownFormat kKnownFormats[] = {
    {0, "GIF87a", "GIF", kConvert},
    {0, "GIF89a", "GIF", kConvert},
    {4, "ftypavif", "AVIF", kConvert},
    {4, "ftypavis", "AVIF", kConvert},
    {4, "ftyphei", "HEIC", kConvert},
    {4, "ftyphev", "HEIC", kConvert},
    {4, "ftypmif1", "HEIF", kConvert},
    {4, "ftypmsf1", "HEIF", kConvert},
    {0, {"\0\0\0\x0cjP  ", 8}, "JPEG 2000", kConvert},
    {0, {"\0\0\0\x0cJXL ", 8}, "JPEG XL", kConvert},
    {0, "\xff\x0a", "JPEG XL", kConvert},
    {0, "%PDF-", "PDF", "; make pictures of its pages first, for example with pdftoppm -r 150 -png"},
};

bool is_tiff(std::string_view bytes) {
    // The last two are BigTIFF.
    for (const std::string_view magic : {std::string_view("II*\0", 4), std::string_view("MM\0*", 4),
                                         std::string_view("II+\0", 4), std::string_view("MM\0+", 4)})
        if (bytes.starts_with(magic)) return true;
    return false;
}

bool is_portable_anymap(std::string_view bytes) {
    constexpr std::string_view kSpaces = " \t\r\n\v\f#";
    return bytes.size() >= 3 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '7' &&
           kSpaces.find(bytes[2]) != std::string_view::npos;
}

Error refuse(std::string_view subject, std::string_view name, std::string_view remedy) {
    return decode_error(ErrorCode::unsupported, subject,
                        "its bytes are " + std::string(name) + ", a format that is not read" + std::string(remedy));
}

Error unknown_format(std::span<const std::byte> encoded, std::string_view subject) {
    std::string message = "its first bytes (";
    constexpr std::string_view kDigits = "0123456789abcdef";
    for (std::size_t i = 0; i < encoded.size() && i < 8; ++i) {
        const auto value = std::to_integer<unsigned>(encoded[i]);
        if (i > 0) message += ' ';
        message += kDigits[value >> 4];
        message += kDigits[value & 15];
    }
    return decode_error(
        ErrorCode::unsupported, subject,
        message + ") are those of no known picture format; give a PNG, JPEG, WebP, TIFF, BMP or PNM file");
}

Result<Decoded> decode_stored(std::span<const std::byte> encoded, std::string_view subject,
                              const DecodeOptions& options) {
    if (encoded.empty())
        return decode_error(ErrorCode::malformed, subject, "is empty (0 bytes), where a picture is expected");
    const std::string_view bytes(reinterpret_cast<const char*>(encoded.data()), encoded.size());
    if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return decode_png(encoded, subject, options);
    if (bytes.starts_with("\xff\xd8\xff")) return decode_jpeg(encoded, subject, options);
    if (bytes.size() >= 12 && bytes.starts_with("RIFF") && bytes.substr(8).starts_with("WEBP"))
        return decode_webp(encoded, subject, options);
    if (is_tiff(bytes)) return decode_tiff(encoded, subject, options);
    if (bytes.starts_with("BM")) return decode_bmp(encoded, subject, options);
    if (is_portable_anymap(bytes)) return decode_pnm(encoded, subject, options);
    for (const KnownFormat& format : kKnownFormats)
        if (bytes.size() > format.offset && bytes.substr(format.offset).starts_with(format.magic))
            return refuse(subject, format.name, format.remedy);
    return unknown_format(encoded, subject);
}

}  // namespace

std::optional<Error> check_size(std::uint64_t width, std::uint64_t height, std::uint64_t least_bytes,
                                std::uint64_t encoded_bytes, std::string_view subject, const DecodeOptions& options,
                                std::uint64_t working_bytes) {
    // Both sides come from fields of at most 32 bits: the product fits.
    const std::uint64_t pixels = width * height;
    const std::string size = std::to_string(width) + " x " + std::to_string(height) + " = " + std::to_string(pixels);
    constexpr std::uint64_t kMaxSide = std::numeric_limits<int>::max();
    if (pixels == 0)
        return decode_error(ErrorCode::malformed, subject,
                            "has " + size + " pixels, but each side must be at least 1; the file is damaged");
    if (width > kMaxSide || height > kMaxSide)
        return decode_error(ErrorCode::unsupported, subject,
                            "has " + size + " pixels, with a side above " + std::to_string(kMaxSide) +
                                "; scale it down or cut it into parts");
    if (pixels > options.max_pixels)
        return decode_error(ErrorCode::unsupported, subject,
                            "has " + size + " pixels, more than the " + std::to_string(options.max_pixels) +
                                " that are decoded; scale it down or cut it into parts");
    if (encoded_bytes < least_bytes)
        return decode_error(ErrorCode::malformed, subject,
                            "claims " + size + " pixels, which take at least " + std::to_string(least_bytes) +
                                " bytes, but has " + std::to_string(encoded_bytes) +
                                "; the file is cut short or damaged");
    if (!options.admit) return std::nullopt;
    auto admitted = options.admit({width, height, encoded_bytes, working_bytes});
    if (admitted) return std::nullopt;
    return std::move(admitted).error();
}

Result<Image> decode(std::span<const std::byte> encoded, std::string_view subject, const DecodeOptions& options) try {
    INKSTONE_TRY(Decoded decoded, decode_stored(encoded, subject, options));
    if (options.admit && decoded.orientation != Orientation::upright) {
        const auto width = static_cast<std::uint64_t>(decoded.image.width);
        const auto height = static_cast<std::uint64_t>(decoded.image.height);
        INKSTONE_CHECK(options.admit({width, height, encoded.size(), decoded.image.pixels.size()}));
    }
    return orient(std::move(decoded.image), decoded.orientation, options.cancel);
} catch (const std::bad_alloc&) {
    return decode_error(ErrorCode::out_of_memory, subject,
                        "there is no memory to decode it: scale it down, or free some memory");
}

Result<Image> decode_file(const std::filesystem::path& path, const DecodeOptions& options) {
    std::error_code unknown;  // what cannot be examined is reported when it is opened
    const std::uintmax_t bytes = std::filesystem::file_size(path, unknown);
    if (options.admit && !unknown) INKSTONE_CHECK(options.admit({0, 0, bytes, 0}));
    INKSTONE_TRY(const std::string content, read_text_file(path, options.max_file_bytes, kDecodeStage, options.cancel));
    return decode(std::as_bytes(std::span(content)), path.string(), options);
}

}  // namespace inkstone::image
