// JPEG through libjpeg-turbo, whose types stay in this file: accurate integer DCT and smooth chroma upsampling, the
// library's defaults, as Pillow uses them. libjpeg reports errors by a callback that must not return: it jumps to the
// calling function, which holds no object with a destructor; those live in decode_jpeg.
#include <cstdio>  // before jpeglib.h, which needs FILE

#include <jerror.h>
#include <jpeglib.h>

#include <csetjmp>
#include <cstring>
#include <vector>

#include "image/codec.h"

namespace inkstone::image {

namespace {

// A progressive file is passed over once per scan. Encoders write about 10; a hostile file could ask for thousands.
constexpr int kMaxScans = 128;
constexpr int kExifMarker = JPEG_APP0 + 1;

struct Reader {
    jpeg_decompress_struct jpeg = {};
    jpeg_error_mgr errors = {};
    jpeg_progress_mgr progress = {};
    std::jmp_buf target;
    const CancelToken* cancel = nullptr;
    ErrorCode code = ErrorCode::malformed;
    char message[JMSG_LENGTH_MAX] = {};

    Reader() = default;
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    ~Reader() { jpeg_destroy_decompress(&jpeg); }
};

[[noreturn]] void fail(Reader& reader, ErrorCode code, const char* message) {
    reader.code = code;
    std::snprintf(reader.message, sizeof reader.message, "%s", message);
    std::longjmp(reader.target, 1);
}

ErrorCode code_of(int message_code) {
    switch (message_code) {
        case JERR_OUT_OF_MEMORY:
            return ErrorCode::out_of_memory;
        case JERR_BAD_PRECISION:
        case JERR_IMAGE_TOO_BIG:
        case JERR_SOF_UNSUPPORTED:
        case JERR_COMPONENT_COUNT:
        case JERR_CONVERSION_NOTIMPL:
        case JERR_ARITH_NOTIMPL:
        case JERR_NOT_COMPILED:
            return ErrorCode::unsupported;
        default:
            return ErrorCode::malformed;
    }
}

[[noreturn]] void on_error(j_common_ptr jpeg) {
    auto& reader = *static_cast<Reader*>(jpeg->client_data);
    char message[JMSG_LENGTH_MAX];
    (*jpeg->err->format_message)(jpeg, message);
    fail(reader, code_of(jpeg->err->msg_code), message);
}

// Warnings are dropped, but for the two that mean missing pixels: these would come out grey.
void on_message(j_common_ptr jpeg, int level) {
    if (level >= 0) return;
    auto& reader = *static_cast<Reader*>(jpeg->client_data);
    if (jpeg->err->msg_code == JWRN_JPEG_EOF) fail(reader, ErrorCode::malformed, "the file ends early");
    if (jpeg->err->msg_code == JWRN_HIT_MARKER) fail(reader, ErrorCode::malformed, "the data of a scan ends early");
}

void on_output(j_common_ptr) {}

// Called for each row of blocks that is read and for each row of pixels that is made.
void on_progress(j_common_ptr jpeg) {
    auto& reader = *static_cast<Reader*>(jpeg->client_data);
    if (cancelled(reader.cancel)) fail(reader, ErrorCode::cancelled, "");
    if (reader.jpeg.input_scan_number > kMaxScans) fail(reader, ErrorCode::unsupported, "it has more than 128 scans");
}

bool read_header(Reader& reader, std::span<const std::byte> encoded) {
    reader.jpeg.err = jpeg_std_error(&reader.errors);
    reader.errors.error_exit = on_error;
    reader.errors.emit_message = on_message;
    reader.errors.output_message = on_output;
    reader.jpeg.client_data = &reader;
    if (setjmp(reader.target) != 0) return false;
    jpeg_create_decompress(&reader.jpeg);
    reader.progress.progress_monitor = on_progress;
    reader.jpeg.progress = &reader.progress;
    jpeg_mem_src(&reader.jpeg, reinterpret_cast<const unsigned char*>(encoded.data()), encoded.size());
    jpeg_save_markers(&reader.jpeg, kExifMarker, 0xFFFF);
    jpeg_read_header(&reader.jpeg, TRUE);
    return true;
}

// The least size of a file with these sides: a block of 8 x 8 samples takes at least one bit of Huffman data.
// Arithmetic coding has no such bound.
std::uint64_t least_bytes(const Reader& reader) {
    if (reader.jpeg.arith_code) return 0;
    std::uint64_t blocks = 0;
    for (int i = 0; i < reader.jpeg.num_components; ++i) {
        const jpeg_component_info& component = reader.jpeg.comp_info[i];
        blocks += std::uint64_t{component.width_in_blocks} * component.height_in_blocks;
    }
    return blocks / 8;
}

bool start_pixels(Reader& reader) {
    if (setjmp(reader.target) != 0) return false;
    switch (reader.jpeg.num_components) {
        case 1:
            reader.jpeg.out_color_space = JCS_GRAYSCALE;
            break;
        case 3:
            reader.jpeg.out_color_space = JCS_RGB;
            break;
        case 4:
            reader.jpeg.out_color_space = JCS_CMYK;
            break;
        default:
            fail(reader, ErrorCode::unsupported, "it has neither 1, 3 nor 4 color components");
    }
    jpeg_start_decompress(&reader.jpeg);
    return true;
}

bool read_row(Reader& reader, std::uint8_t* row) {
    if (setjmp(reader.target) != 0) return false;
    JSAMPROW rows[1] = {row};
    if (jpeg_read_scanlines(&reader.jpeg, rows, 1) != 1) fail(reader, ErrorCode::malformed, "a row is missing");
    return true;
}

// Reads up to the end mark.
bool read_end(Reader& reader) {
    if (setjmp(reader.target) != 0) return false;
    jpeg_finish_decompress(&reader.jpeg);
    return true;
}

Error failure(const Reader& reader, std::string_view subject) {
    if (reader.code == ErrorCode::cancelled) return cancelled_error(kDecodeStage, subject);
    std::string_view remedy = "the file is cut short or damaged";
    if (reader.code == ErrorCode::unsupported) remedy = "convert it to PNG or to baseline JPEG first";
    if (reader.code == ErrorCode::out_of_memory) remedy = "scale the picture down";
    return decode_error(
        reader.code, subject,
        "the JPEG file cannot be decoded (" + std::string(reader.message) + "); " + std::string(remedy));
}

// A picture that comes in several scans is held as coefficients of 16 bits until the last of them is read.
std::uint64_t coefficient_bytes(const Reader& reader) {
    if (jpeg_has_multiple_scans(const_cast<jpeg_decompress_struct*>(&reader.jpeg)) == FALSE) return 0;
    std::uint64_t blocks = 0;
    for (int i = 0; i < reader.jpeg.num_components; ++i) {
        const jpeg_component_info& component = reader.jpeg.comp_info[i];
        blocks += std::uint64_t{component.width_in_blocks} * component.height_in_blocks;
    }
    return blocks * DCTSIZE2 * sizeof(JCOEF);
}

// EXIF may be spread over several markers; of XMP packets the last one counts.
Orientation read_orientation(const Reader& reader) {
    constexpr std::string_view kExifName("Exif\0\0", 6);
    constexpr std::string_view kXmpName("http://ns.adobe.com/xap/1.0/\0", 29);
    std::vector<std::byte> exif;
    std::span<const std::byte> xmp;
    for (jpeg_saved_marker_ptr marker = reader.jpeg.marker_list; marker != nullptr; marker = marker->next) {
        const auto bytes = std::as_bytes(std::span(marker->data, marker->data_length));
        const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        if (text.starts_with(kExifName)) exif.insert(exif.end(), bytes.begin() + kExifName.size(), bytes.end());
        if (text.starts_with(kXmpName)) xmp = bytes.subspan(kXmpName.size());
    }
    return choose_orientation(exif, xmp);
}

// Samples of CMYK files are taken as inverted (0 is full ink), as Adobe writes them and Pillow reads them, with or
// without Adobe's marker. Ink then takes its share of what black leaves of the light.
void convert_cmyk_row(const std::uint8_t* cmyk, int width, std::uint8_t* rgb) {
    for (int x = 0; x < width; ++x, cmyk += 4, rgb += 3) {
        const unsigned light = cmyk[3];
        for (int channel = 0; channel < 3; ++channel) rgb[channel] = light_through_ink(255U - cmyk[channel], light);
    }
}

}  // namespace

Result<Decoded> decode_jpeg(std::span<const std::byte> encoded, std::string_view subject,
                            const DecodeOptions& options) {
    Reader reader;
    reader.cancel = options.cancel;
    if (!read_header(reader, encoded)) return failure(reader, subject);
    const std::uint64_t width = reader.jpeg.image_width, height = reader.jpeg.image_height;
    if (auto error =
            check_size(width, height, least_bytes(reader), encoded.size(), subject, options, coefficient_bytes(reader)))
        return *error;

    if (!start_pixels(reader)) return failure(reader, subject);
    INKSTONE_TRY(Image image, allocate_image(static_cast<int>(width), static_cast<int>(height), options.cancel));
    const int channels = reader.jpeg.output_components;
    std::vector<std::uint8_t> stored(channels == 3 ? 0 : width * static_cast<std::size_t>(channels));
    for (int y = 0; y < image.height; ++y) {
        std::uint8_t* rgb = image.row(y);
        if (!read_row(reader, channels == 3 ? rgb : stored.data())) return failure(reader, subject);
        if (channels == 4) convert_cmyk_row(stored.data(), image.width, rgb);
        if (channels == 1)
            for (int x = 0; x < image.width; ++x, rgb += 3) std::memset(rgb, stored[x], 3);
    }
    const Orientation orientation = read_orientation(reader);  // before the end, which frees the markers
    if (!read_end(reader)) return failure(reader, subject);
    return Decoded{std::move(image), orientation};
}

}  // namespace inkstone::image
