// TIFF through libtiff, whose types stay in this file: the first page, by strips or tiles, each decoded by the library
// and turned into RGB here. The library sees the file as mapped memory, so that it copies none of it; its own
// allocations are limited; its messages come to our handlers alone.
#include <tiffio.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "image/codec.h"

namespace inkstone::image {

namespace {

// The library's tables and a row's run lengths, of tiny files too.
constexpr std::uint64_t kLeastLibraryLimitBytes = 1 << 20;
// A small picture may be one tile of a usual size.
constexpr std::uint64_t kUsualTileBytes = 1 << 20;
// Parts may share their bytes, as empty tiles of some writers do; beyond this a small file could ask for endless work.
constexpr std::uint64_t kMaxReuse = 16;
constexpr unsigned kMaxSamples = 6;

enum class Alpha { none, straight, premultiplied };

// What a page is made of. Strips are parts as wide as the picture.
struct Layout {
    std::uint64_t width = 0, height = 0;
    std::uint64_t part_width = 0, part_height = 0;
    bool tiled = false;
    bool separate = false;  // a plane of parts for each sample
    unsigned bits = 0;      // per sample
    unsigned samples = 0;   // per pixel
    unsigned photometric = 0;
    unsigned compression = 0;
    Alpha alpha = Alpha::none;  // the sample behind the colors

    unsigned planes() const { return separate ? samples : 1; }
    unsigned part_samples() const { return separate ? 1 : samples; }
    unsigned colors() const {
        return photometric == PHOTOMETRIC_SEPARATED ? 4 : photometric == PHOTOMETRIC_RGB ? 3 : 1;
    }
    std::uint64_t stored_row_bytes() const { return (width * samples * bits + 7) / 8; }
    std::uint64_t part_row_bytes() const { return (part_width * part_samples() * bits + 7) / 8; }
};

struct Reader {
    std::span<const std::byte> encoded;
    std::uint64_t position = 0;
    const CancelToken* cancel = nullptr;
    char message[200] = {};        // the library's first error
    bool jpeg_ends_early = false;  // only a warning of the library, but it means missing pixels
    TIFF* tiff = nullptr;

    Reader() = default;
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    ~Reader() {
        if (tiff != nullptr) TIFFClose(tiff);
    }

    template <class T>
    T field(std::uint32_t tag, T otherwise) const {
        T value = otherwise;
        return TIFFGetFieldDefaulted(tiff, tag, &value) == 1 ? value : otherwise;
    }
};

tmsize_t on_read(thandle_t handle, void* target, tmsize_t count) {
    auto& reader = *static_cast<Reader*>(handle);
    if (count <= 0 || reader.position >= reader.encoded.size()) return 0;
    const auto rest = reader.encoded.subspan(reader.position);
    const std::size_t taken = std::min(rest.size(), static_cast<std::size_t>(count));
    std::memcpy(target, rest.data(), taken);
    reader.position += taken;
    return static_cast<tmsize_t>(taken);
}

tmsize_t on_write(thandle_t, void*, tmsize_t) { return 0; }

toff_t on_seek(thandle_t handle, toff_t offset, int from) {
    auto& reader = *static_cast<Reader*>(handle);
    const std::uint64_t start = from == SEEK_SET ? 0 : from == SEEK_CUR ? reader.position : reader.encoded.size();
    return reader.position = start + offset;  // may wrap: on_read checks
}

int on_close(thandle_t) { return 0; }

toff_t on_size(thandle_t handle) { return static_cast<Reader*>(handle)->encoded.size(); }

int on_map(thandle_t handle, void** base, toff_t* size) {
    const auto& reader = *static_cast<Reader*>(handle);
    *base = const_cast<std::byte*>(reader.encoded.data());  // opened for reading: the library does not write
    *size = reader.encoded.size();
    return 1;
}

void on_unmap(thandle_t, void*, toff_t) {}

// Handlers return 1: the message ends here.
int on_error(TIFF*, void* user, const char*, const char* format, va_list arguments) {
    auto& reader = *static_cast<Reader*>(user);
    if (reader.message[0] == '\0') std::vsnprintf(reader.message, sizeof reader.message, format, arguments);
    return 1;
}

int on_warning(TIFF*, void* user, const char* module, const char* format, va_list arguments) {
    auto& reader = *static_cast<Reader*>(user);
    if (module == nullptr || std::strcmp(module, "JPEGLib") != 0) return 1;
    char message[200] = {};
    std::vsnprintf(message, sizeof message, format, arguments);
    if (std::strstr(message, "remature end") != nullptr) reader.jpeg_ends_early = true;
    return 1;
}

Error damaged(const Reader& reader, std::string_view subject) {
    if (cancelled(reader.cancel)) return cancelled_error(kDecodeStage, subject);
    const std::string message = reader.message[0] != '\0' ? reader.message : "a part of its data is missing";
    return decode_error(ErrorCode::malformed, subject,
                        "the TIFF file cannot be decoded (" + message + "); the file is cut short or damaged");
}

Error unsupported(std::string_view subject, const std::string& reason) {
    return decode_error(ErrorCode::unsupported, subject,
                        "the TIFF file " + reason + "; convert it to PNG or JPEG first");
}

// Reads the first directory.
bool open(Reader& reader) {
    const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(),
                                                                               TIFFOpenOptionsFree);
    if (!options) throw std::bad_alloc();
    const std::uint64_t limit_bytes = std::max(kLeastLibraryLimitBytes, std::uint64_t{4} * reader.encoded.size());
    TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), static_cast<tmsize_t>(limit_bytes));
    TIFFOpenOptionsSetErrorHandlerExtR(options.get(), on_error, &reader);
    TIFFOpenOptionsSetWarningHandlerExtR(options.get(), on_warning, &reader);
    // c: long strips are not cut into short ones.
    reader.tiff = TIFFClientOpenExt("picture", "rc", &reader, on_read, on_write, on_seek, on_close, on_size, on_map,
                                    on_unmap, options.get());
    return reader.tiff != nullptr;
}

// The fewest bytes that each compression makes of a page.
std::uint64_t least_bytes(const Layout& layout) {
    const std::uint64_t stored_bytes = layout.stored_row_bytes() * layout.height;
    switch (layout.compression) {
        case COMPRESSION_NONE:
            return stored_bytes;
        case COMPRESSION_PACKBITS:
            return stored_bytes / 64;  // 2 bytes make 128
        case COMPRESSION_ADOBE_DEFLATE:
        case COMPRESSION_DEFLATE:
            return stored_bytes / 1032;
        case COMPRESSION_LZW:
            return stored_bytes / 2560;  // a code of 12 bits stands for at most 3 838 bytes
        case COMPRESSION_JPEG:
            return layout.width * layout.height / 64 / 8;  // a bit for each block of 8 x 8
        default:
            return layout.height / 8;  // fax: a bit for each row
    }
}

// What stands behind the colors. As in Pillow, a fourth sample of RGB that the file says nothing about is alpha.
Alpha read_alpha(const Reader& reader, const Layout& layout) {
    if (layout.samples <= layout.colors()) return Alpha::none;
    std::uint16_t count = 0;
    std::uint16_t* kinds = nullptr;
    if (TIFFGetField(reader.tiff, TIFFTAG_EXTRASAMPLES, &count, &kinds) != 1 || count == 0)
        return layout.photometric == PHOTOMETRIC_RGB && layout.samples == 4 ? Alpha::straight : Alpha::none;
    if (kinds[0] == EXTRASAMPLE_ASSOCALPHA) return Alpha::premultiplied;
    return kinds[0] == EXTRASAMPLE_UNASSALPHA ? Alpha::straight : Alpha::none;
}

std::optional<Error> check_kind(const Reader& reader, const Layout& layout, std::string_view subject) {
    const unsigned bits = layout.bits;
    const auto format = reader.field<std::uint16_t>(TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
    if (format != SAMPLEFORMAT_UINT || (bits != 1 && bits != 2 && bits != 4 && bits != 8 && bits != 16))
        return unsupported(subject, "has samples of " + std::to_string(bits) + " bits and format " +
                                        std::to_string(format) + ", where 1, 2, 4, 8 or 16 bits of format 1 are read");
    constexpr unsigned kCompressions[] = {COMPRESSION_NONE,      COMPRESSION_CCITTRLE,      COMPRESSION_CCITTFAX3,
                                          COMPRESSION_CCITTFAX4, COMPRESSION_LZW,           COMPRESSION_JPEG,
                                          COMPRESSION_PACKBITS,  COMPRESSION_ADOBE_DEFLATE, COMPRESSION_DEFLATE};
    if (std::find(std::begin(kCompressions), std::end(kCompressions), layout.compression) == std::end(kCompressions))
        return unsupported(subject, "is compressed by method " + std::to_string(layout.compression) +
                                        ", where none, CCITT fax, LZW, deflate, PackBits and JPEG are read");
    constexpr unsigned kPhotometrics[] = {PHOTOMETRIC_MINISWHITE, PHOTOMETRIC_MINISBLACK, PHOTOMETRIC_RGB,
                                          PHOTOMETRIC_PALETTE, PHOTOMETRIC_SEPARATED};
    if (std::find(std::begin(kPhotometrics), std::end(kPhotometrics), layout.photometric) == std::end(kPhotometrics))
        return unsupported(subject, "has photometric interpretation " + std::to_string(layout.photometric) +
                                        ", where grey, RGB, palette and CMYK are read, and YCbCr in JPEG");
    if (layout.samples < layout.colors() || layout.samples > kMaxSamples)
        return unsupported(subject, "has " + std::to_string(layout.samples) + " samples per pixel, where " +
                                        std::to_string(layout.colors()) + " to " + std::to_string(kMaxSamples) +
                                        " are read");
    if (layout.compression == COMPRESSION_JPEG && bits != 8)
        return unsupported(subject, "has JPEG data of " + std::to_string(bits) + " bits per sample, where 8 are read");
    if (layout.photometric == PHOTOMETRIC_PALETTE && bits > 8)
        return unsupported(subject, "has a palette of 16 bits, where up to 8 are read");
    if (layout.photometric == PHOTOMETRIC_SEPARATED &&
        reader.field<std::uint16_t>(TIFFTAG_INKSET, INKSET_CMYK) != INKSET_CMYK)
        return unsupported(subject, "has inks other than cyan, magenta, yellow and black");
    return std::nullopt;
}

Result<Layout> read_layout(const Reader& reader, std::string_view subject, const DecodeOptions& options) {
    Layout layout;
    layout.width = reader.field<std::uint32_t>(TIFFTAG_IMAGEWIDTH, 0);
    layout.height = reader.field<std::uint32_t>(TIFFTAG_IMAGELENGTH, 0);
    layout.bits = reader.field<std::uint16_t>(TIFFTAG_BITSPERSAMPLE, 1);
    layout.samples = reader.field<std::uint16_t>(TIFFTAG_SAMPLESPERPIXEL, 1);
    layout.compression = reader.field<std::uint16_t>(TIFFTAG_COMPRESSION, COMPRESSION_NONE);
    layout.photometric = reader.field<std::uint16_t>(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISWHITE);
    layout.separate = reader.field<std::uint16_t>(TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) == PLANARCONFIG_SEPARATE &&
                      layout.samples > 1;
    layout.tiled = TIFFIsTiled(reader.tiff) != 0;
    if (layout.compression == COMPRESSION_JPEG && layout.photometric == PHOTOMETRIC_YCBCR && !layout.separate &&
        layout.samples == 3) {
        TIFFSetField(reader.tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
        layout.photometric = PHOTOMETRIC_RGB;
    }
    if (auto error = check_kind(reader, layout, subject)) return *error;
    layout.alpha = read_alpha(reader, layout);
    if (auto error = check_size(layout.width, layout.height, 0, reader.encoded.size(), subject, options)) return *error;
    if (auto error =
            check_size(layout.width, layout.height, least_bytes(layout), reader.encoded.size(), subject, options))
        return *error;

    if (layout.tiled) {
        layout.part_width = reader.field<std::uint32_t>(TIFFTAG_TILEWIDTH, 0);
        layout.part_height = reader.field<std::uint32_t>(TIFFTAG_TILELENGTH, 0);
    } else {
        layout.part_width = layout.width;
        layout.part_height =
            std::min<std::uint64_t>(layout.height, reader.field<std::uint32_t>(TIFFTAG_ROWSPERSTRIP, 0));
    }
    // Of the file's numbers only the sides of tiles are not yet bounded: 64 bits hold the product with a picture's
    // side, not that of both.
    const std::uint64_t stored_bytes = layout.stored_row_bytes() * layout.height;
    const std::uint64_t limit_bytes = std::max(kUsualTileBytes, 4 * stored_bytes);
    const std::uint64_t row_bytes = layout.part_row_bytes() * layout.planes();
    if (row_bytes == 0 || layout.part_height == 0 || row_bytes > limit_bytes / layout.part_height)
        return unsupported(subject, "is cut into tiles of " + std::to_string(layout.part_width) + " x " +
                                        std::to_string(layout.part_height) + " for a picture of " +
                                        std::to_string(layout.width) + " x " + std::to_string(layout.height));
    const std::uint64_t library_bytes =
        layout.tiled ? TIFFTileSize64(reader.tiff)
                     : TIFFVStripSize64(reader.tiff, static_cast<std::uint32_t>(layout.part_height));
    if (library_bytes != layout.part_row_bytes() * layout.part_height)
        return unsupported(subject, "has parts of " + std::to_string(library_bytes) + " bytes, where " +
                                        std::to_string(layout.part_row_bytes() * layout.part_height) + " are expected");

    std::uint64_t claimed_bytes = 0;
    const std::uint32_t parts = layout.tiled ? TIFFNumberOfTiles(reader.tiff) : TIFFNumberOfStrips(reader.tiff);
    for (std::uint32_t part = 0; part < parts; ++part) {
        const std::uint64_t part_bytes = TIFFGetStrileByteCount(reader.tiff, part);
        if (part_bytes > reader.encoded.size() || (claimed_bytes += part_bytes) > kMaxReuse * reader.encoded.size())
            return decode_error(ErrorCode::malformed, subject,
                                "the TIFF file claims more bytes for its parts than its " +
                                    std::to_string(reader.encoded.size()) + "; the file is cut short or damaged");
    }
    return layout;
}

using Palette = std::vector<Color>;

// Entries of 16 bits keep their high byte, unless all are below 256: then some writer took them for 8 bits.
Palette read_palette(const Reader& reader, const Layout& layout) {
    std::uint16_t* channels[3] = {};
    if (TIFFGetField(reader.tiff, TIFFTAG_COLORMAP, &channels[0], &channels[1], &channels[2]) != 1) return {};
    const std::size_t count = std::size_t{1} << layout.bits;
    bool wide = false;
    for (const std::uint16_t* channel : channels)
        wide = wide || std::any_of(channel, channel + count, [](std::uint16_t value) { return value > 255; });
    Palette palette(count);
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t c = 0; c < 3; ++c)
            palette[i][c] = static_cast<std::uint8_t>(wide ? channels[c][i] >> 8 : channels[c][i]);
    return palette;
}

// Sample `first` of each pixel, as it is stored, but of 16 bits the high byte. 16-bit samples are in our byte order.
void unpack(const std::uint8_t* row, unsigned bits, unsigned step, unsigned first, std::span<std::uint8_t> values) {
    for (std::size_t x = 0; x < values.size(); ++x) {
        const std::size_t sample = x * step + first;
        if (bits == 8) {
            values[x] = row[sample];
        } else if (bits == 16) {
            std::uint16_t value = 0;
            std::memcpy(&value, row + sample * 2, 2);
            values[x] = static_cast<std::uint8_t>(value >> 8);
        } else {
            const std::size_t at = sample * bits;
            values[x] = static_cast<std::uint8_t>(row[at / 8] >> (8 - bits - at % 8) & ((1U << bits) - 1));
        }
    }
}

// Turns rows of samples into RGB on the background.
class Converter {
public:
    Converter(const Layout& layout, Palette palette, const Color& background)
        : layout_(layout), palette_(std::move(palette)), background_(background) {
        const std::size_t used = layout.colors() + (layout.alpha != Alpha::none ? 1 : 0);
        samples_.assign(used, std::vector<std::uint8_t>(std::min(layout.part_width, layout.width)));
    }

    // `part` is the first sample of the row: of all samples, or of each plane, which lie plane_bytes apart.
    void convert(const std::uint8_t* part, std::size_t plane_bytes, std::size_t width, std::uint8_t* rgb) {
        for (unsigned i = 0; i < samples_.size(); ++i) {
            const std::span values = std::span(samples_[i]).first(width);
            if (layout_.separate)
                unpack(part + i * plane_bytes, layout_.bits, 1, 0, values);
            else
                unpack(part, layout_.bits, layout_.samples, i, values);
        }
        for (std::size_t x = 0; x < width; ++x, rgb += 3) {
            Color color = color_at(x);
            const unsigned alpha = layout_.alpha == Alpha::none ? 255U : scaled(samples_.back()[x]);
            for (std::size_t channel = 0; channel < 3; ++channel) {
                unsigned value = color[channel];
                if (layout_.alpha == Alpha::premultiplied) value = alpha == 0 ? 0 : std::min(255U, value * 255 / alpha);
                rgb[channel] = compose(value, alpha, background_[channel]);
            }
        }
    }

private:
    std::uint8_t scaled(unsigned value) const {
        return static_cast<std::uint8_t>(layout_.bits >= 8 ? value : value * 255 / ((1U << layout_.bits) - 1));
    }

    Color color_at(std::size_t x) const {
        const auto sample = [&](std::size_t i) { return scaled(samples_[i][x]); };
        switch (layout_.photometric) {
            case PHOTOMETRIC_PALETTE:
                return palette_[samples_[0][x]];
            case PHOTOMETRIC_RGB:
                return {sample(0), sample(1), sample(2)};
            case PHOTOMETRIC_SEPARATED: {
                const unsigned light = 255U - sample(3);
                return {light_through_ink(sample(0), light), light_through_ink(sample(1), light),
                        light_through_ink(sample(2), light)};
            }
            case PHOTOMETRIC_MINISWHITE: {
                const auto gray = static_cast<std::uint8_t>(255 - sample(0));
                return {gray, gray, gray};
            }
            default:
                return {sample(0), sample(0), sample(0)};
        }
    }

    const Layout& layout_;
    Palette palette_;
    Color background_;
    std::vector<std::vector<std::uint8_t>> samples_;  // of one row, each sample by itself
};

// Decodes the strip whose first row is y, of one plane. A strip may be the whole picture: it is read row by row, with a
// look at the cancel token in between. PackBits, which is fast, is not: runs of some writers go on in the next row.
bool read_strip(Reader& reader, const Layout& layout, std::uint32_t y, std::uint16_t plane,
                std::span<std::uint8_t> strip) {
    if (layout.compression == COMPRESSION_PACKBITS) {
        const auto size = static_cast<tmsize_t>(strip.size());
        return TIFFReadEncodedStrip(reader.tiff, TIFFComputeStrip(reader.tiff, y, plane), strip.data(), size) == size;
    }
    for (const std::size_t row_bytes = layout.part_row_bytes(); !strip.empty(); strip = strip.subspan(row_bytes))
        if (cancelled(reader.cancel) || TIFFReadScanline(reader.tiff, strip.data(), y++, plane) != 1) return false;
    return true;
}

// Decodes the part whose first pixel is (x, y), of one plane. False: the data ends early, or the work is cancelled.
bool read_part(Reader& reader, const Layout& layout, std::uint32_t x, std::uint32_t y, std::uint16_t plane,
               std::span<std::uint8_t> part) {
    if (cancelled(reader.cancel)) return false;
    if (!layout.tiled) return read_strip(reader, layout, y, plane, part) && !reader.jpeg_ends_early;
    const auto size = static_cast<tmsize_t>(part.size());
    return TIFFReadEncodedTile(reader.tiff, TIFFComputeTile(reader.tiff, x, y, 0, plane), part.data(), size) == size &&
           !reader.jpeg_ends_early;
}

Orientation read_orientation(const Reader& reader) {
    std::uint16_t value = 0;
    if (TIFFGetField(reader.tiff, TIFFTAG_ORIENTATION, &value) == 1 && value >= 1 && value <= 8)
        return static_cast<Orientation>(value);
    std::uint32_t count = 0;
    const void* packet = nullptr;
    if (TIFFGetField(reader.tiff, TIFFTAG_XMLPACKET, &count, &packet) != 1) return Orientation::upright;
    return choose_orientation({}, std::span(static_cast<const std::byte*>(packet), count));
}

}  // namespace

Result<Decoded> decode_tiff(std::span<const std::byte> encoded, std::string_view subject,
                            const DecodeOptions& options) {
    Reader reader;
    reader.encoded = encoded;
    reader.cancel = options.cancel;
    if (!open(reader)) return damaged(reader, subject);
    INKSTONE_TRY(const Layout layout, read_layout(reader, subject, options));
    Palette palette;
    if (layout.photometric == PHOTOMETRIC_PALETTE) {
        palette = read_palette(reader, layout);
        if (palette.empty()) return damaged(reader, subject);
    }

    INKSTONE_TRY(Image image,
                 allocate_image(static_cast<int>(layout.width), static_cast<int>(layout.height), options.cancel));
    const std::size_t row_bytes = layout.part_row_bytes();
    const std::size_t plane_bytes = row_bytes * layout.part_height;
    if (options.admit)
        INKSTONE_CHECK(options.admit({layout.width, layout.height, encoded.size(), plane_bytes * layout.planes()}));
    std::vector<std::uint8_t> parts(plane_bytes * layout.planes());
    Converter converter(layout, std::move(palette), options.background);
    for (std::uint64_t y = 0; y < layout.height; y += layout.part_height) {
        // The last strip has only the rows that are left; tiles are whole.
        const std::size_t rows = std::min(layout.part_height, layout.height - y);
        for (std::uint64_t x = 0; x < layout.width; x += layout.part_width) {
            for (unsigned plane = 0; plane < layout.planes(); ++plane) {
                const auto part =
                    std::span(parts).subspan(plane * plane_bytes, layout.tiled ? plane_bytes : rows * row_bytes);
                if (!read_part(reader, layout, static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y),
                               static_cast<std::uint16_t>(plane), part))
                    return damaged(reader, subject);
            }
            const std::size_t width = std::min(layout.part_width, layout.width - x);
            for (std::size_t row = 0; row < rows; ++row) {
                INKSTONE_CHECK(check_cancel(subject, options));
                converter.convert(parts.data() + row * row_bytes, plane_bytes, width,
                                  image.row(static_cast<int>(y + row)) + x * 3);
            }
        }
    }
    return Decoded{std::move(image), read_orientation(reader)};
}

}  // namespace inkstone::image
