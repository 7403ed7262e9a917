// PNG through libpng, whose types stay in this file. libpng reports errors by longjmp: every function that calls it
// sets its own jump target and holds no object with a destructor; those live in decode_png.
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <vector>

#include "image/codec.h"

namespace inkstone::image {

namespace {

// Deflate cannot make more than 1032 bytes of one.
constexpr std::uint64_t kMaxDeflateRatio = 1032;
// Comments and profiles of a picture, each and in number; what passes is dropped, not kept.
constexpr png_alloc_size_t kMaxChunkBytes = 4 << 20;
constexpr png_uint_32 kMaxCachedChunks = 64;

// Whether all chunks, up to the end mark, lie inside the file: libpng would reserve what a chunk claims before it finds
// that the bytes are not there.
bool chunks_fit(std::span<const std::byte> encoded) {
    constexpr std::size_t kSignatureBytes = 8;
    constexpr std::size_t kFramingBytes = 12;  // length, name, checksum
    for (auto rest = encoded.subspan(kSignatureBytes); rest.size() >= kFramingBytes;) {
        const auto* header = reinterpret_cast<const png_byte*>(rest.data());
        const std::size_t length = png_get_uint_32(header);
        if (length > rest.size() - kFramingBytes) return false;
        if (std::memcmp(header + 4, "IEND", 4) == 0) return true;
        rest = rest.subspan(kFramingBytes + length);
    }
    return false;
}

struct Reader {
    png_structp png = nullptr;
    png_infop info = nullptr;
    std::span<const std::byte> rest;  // bytes that libpng has not taken yet
    const CancelToken* cancel = nullptr;
    char message[160] = {};  // of libpng's error

    Reader() = default;
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
    auto* reader = static_cast<Reader*>(png_get_error_ptr(png));
    std::snprintf(reader->message, sizeof reader->message, "%s", message);
    png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep target, std::size_t count) {
    auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
    if (cancelled(reader->cancel)) png_error(png, "cancelled");
    if (count > reader->rest.size()) png_error(png, "the file ends early");
    std::memcpy(target, reader->rest.data(), count);
    reader->rest = reader->rest.subspan(count);
}

// Reads everything before the pixels.
bool read_header(Reader& reader) {
    reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, on_error, on_warning);
    if (reader.png == nullptr) return false;
    if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
    reader.info = png_create_info_struct(reader.png);
    if (reader.info == nullptr) png_error(reader.png, "out of memory");
    png_set_read_fn(reader.png, &reader, on_read);
    png_set_user_limits(reader.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // check_size is the limit
    png_set_chunk_malloc_max(reader.png, kMaxChunkBytes);
    png_set_chunk_cache_max(reader.png, kMaxCachedChunks);
    png_read_info(reader.png, reader.info);
    return true;
}

// Asks for 8-bit RGB, or RGBA where the file has any transparency. 16-bit samples keep their high byte, as in Pillow.
bool start_pixels(Reader& reader, int& passes, int& channels) {
    if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
    png_set_expand(reader.png);
    png_set_strip_16(reader.png);
    png_set_gray_to_rgb(reader.png);
    passes = png_set_interlace_handling(reader.png);
    png_read_update_info(reader.png, reader.info);
    channels = png_get_channels(reader.png, reader.info);
    const std::size_t row_bytes = png_get_rowbytes(reader.png, reader.info);
    const std::size_t width = png_get_image_width(reader.png, reader.info);
    if ((channels != 3 && channels != 4) || row_bytes != width * static_cast<std::size_t>(channels))
        png_error(reader.png, "the pixels have an unknown layout");
    return true;
}

bool read_row(Reader& reader, std::uint8_t* row) {
    if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
    png_read_row(reader.png, row, nullptr);
    return true;
}

// What stands after the pixels: the checksum of the pixel stream, comments, the end mark.
bool read_end(Reader& reader) {
    if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
    png_read_end(reader.png, reader.info);
    return true;
}

Error failure(const Reader& reader, std::string_view subject) {
    if (cancelled(reader.cancel)) return cancelled_error(kDecodeStage, subject);
    const std::string message = reader.message[0] != '\0' ? reader.message : "out of memory";
    // libpng tells by its words alone.
    const bool memory = message.find("emory") != std::string::npos;
    return decode_error(memory ? ErrorCode::out_of_memory : ErrorCode::malformed, subject,
                        "the PNG file cannot be decoded (" + message +
                            (memory ? "); scale the picture down" : "); the file is cut short or damaged"));
}

std::span<const std::byte> as_bytes_of(const char* text, std::size_t length) {
    return std::as_bytes(std::span(text, length));
}

// ImageMagick keeps EXIF in a comment: a line break, a name, a length and then the bytes in hexadecimal digits.
std::vector<std::byte> exif_of_raw_profile(std::string_view text) {
    for (int line = 0; line < 3; ++line) {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos) return {};
        text.remove_prefix(end + 1);
    }
    std::vector<std::byte> bytes;
    unsigned value = 0;
    bool half = false;
    for (const char c : text) {
        unsigned digit = 0;
        if (c >= '0' && c <= '9')
            digit = static_cast<unsigned>(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = static_cast<unsigned>(c - 'a') + 10;
        else if (c >= 'A' && c <= 'F')
            digit = static_cast<unsigned>(c - 'A') + 10;
        else if (c == '\n' || c == ' ')
            continue;
        else
            break;
        value = value << 4 | digit;
        if (half) bytes.push_back(static_cast<std::byte>(value & 255));
        half = !half;
    }
    return bytes;
}

// From the eXIf chunk, else from ImageMagick's comment, else from XMP.
Orientation read_orientation(const Reader& reader) {
    png_uint_32 exif_bytes = 0;
    png_bytep exif_data = nullptr;
    std::span<const std::byte> exif, xmp;
    std::vector<std::byte> raw_profile;
    png_textp texts = nullptr;
    int text_count = 0;
    png_get_text(reader.png, reader.info, &texts, &text_count);
    for (int i = 0; i < text_count; ++i) {
        const png_text& text = texts[i];
        const std::string_view key = text.key;
        const std::size_t length = text.compression > 0 ? text.itxt_length : text.text_length;
        if (text.text == nullptr) continue;
        if (key == "Raw profile type exif") raw_profile = exif_of_raw_profile({text.text, length});
        if (key == "XML:com.adobe.xmp") xmp = as_bytes_of(text.text, length);
    }
    exif = raw_profile;
    if (png_get_eXIf_1(reader.png, reader.info, &exif_bytes, &exif_data) != 0)
        exif = std::as_bytes(std::span(exif_data, exif_bytes));
    return choose_orientation(exif, xmp);
}

}  // namespace

Result<Decoded> decode_png(std::span<const std::byte> encoded, std::string_view subject, const DecodeOptions& options) {
    if (!chunks_fit(encoded))
        return decode_error(ErrorCode::malformed, subject,
                            "the PNG file ends inside a chunk or before its end mark, after " +
                                std::to_string(encoded.size()) + " bytes; the file is cut short or damaged");
    Reader reader;
    reader.rest = encoded;
    reader.cancel = options.cancel;
    if (!read_header(reader)) return failure(reader, subject);
    const std::uint64_t width = png_get_image_width(reader.png, reader.info);
    const std::uint64_t height = png_get_image_height(reader.png, reader.info);
    const std::uint64_t stored_bytes = png_get_rowbytes(reader.png, reader.info) * height;
    if (auto error = check_size(width, height, stored_bytes / kMaxDeflateRatio, encoded.size(), subject, options))
        return *error;

    int passes = 0, channels = 0;
    if (!start_pixels(reader, passes, channels)) return failure(reader, subject);
    INKSTONE_TRY(Image image, allocate_image(static_cast<int>(width), static_cast<int>(height), options.cancel));

    // An interlaced picture comes in passes over all rows, so that with alpha all rows are kept; otherwise one is
    // enough.
    const std::size_t rgba_row_bytes = channels == 4 ? width * 4 : 0;
    if (passes > 1 && channels == 4 && options.admit)
        INKSTONE_CHECK(options.admit({width, height, encoded.size(), rgba_row_bytes * height}));
    std::vector<std::uint8_t> rgba(rgba_row_bytes * (passes > 1 ? height : 1));
    for (int pass = 0; pass < passes; ++pass) {
        for (int y = 0; y < image.height; ++y) {
            INKSTONE_CHECK(check_cancel(subject, options));
            std::uint8_t* row = image.row(y);
            if (channels == 4) row = rgba.data() + (passes > 1 ? y * rgba_row_bytes : 0);
            if (!read_row(reader, row)) return failure(reader, subject);
            if (channels == 4 && pass == passes - 1) compose_row(row, options.background, image.width, image.row(y));
        }
    }
    if (!read_end(reader)) return failure(reader, subject);
    return Decoded{std::move(image), read_orientation(reader)};
}

}  // namespace inkstone::image
