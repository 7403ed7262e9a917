// WebP through libwebp and its demuxer, whose types stay in this file: lossy, lossless, with alpha; of an animation the
// first frame, on its canvas. libwebp's memory grows with the sides of the frame, which are checked first. The library
// decodes the rows that the bytes given so far hold: they are given piece by piece, with a look at the cancel token in
// between. None of them is copied.
#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "image/codec.h"

namespace inkstone::image {

namespace {

struct DeleteDemuxer {
    void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};
using Demuxer = std::unique_ptr<WebPDemuxer, DeleteDemuxer>;

struct DeleteDecoder {
    void operator()(WebPIDecoder* decoder) const { WebPIDelete(decoder); }
};
using Decoder = std::unique_ptr<WebPIDecoder, DeleteDecoder>;

// What stands before the rows of a lossless frame is read anew with each piece until it is there: pieces are few.
constexpr std::size_t kMaxPieces = 64;
constexpr std::size_t kLeastPieceBytes = std::size_t{64} << 10;

struct FirstFrame {
    WebPIterator iterator = {};

    FirstFrame() = default;
    FirstFrame(const FirstFrame&) = delete;
    FirstFrame& operator=(const FirstFrame&) = delete;
    ~FirstFrame() { WebPDemuxReleaseIterator(&iterator); }
};

Error damaged(std::string_view subject, const std::string& reason) {
    return decode_error(ErrorCode::malformed, subject,
                        "the WebP file cannot be decoded (" + reason + "); the file is cut short or damaged");
}

Error failure(VP8StatusCode status, std::string_view subject) {
    switch (status) {
        case VP8_STATUS_USER_ABORT:
            return cancelled_error(kDecodeStage, subject);
        case VP8_STATUS_OUT_OF_MEMORY:
            return decode_error(ErrorCode::out_of_memory, subject,
                                "the WebP file cannot be decoded (out of memory); scale the picture down");
        case VP8_STATUS_UNSUPPORTED_FEATURE:
            return decode_error(ErrorCode::unsupported, subject,
                                "the WebP file uses a feature that is not read; convert it to PNG or JPEG first");
        case VP8_STATUS_NOT_ENOUGH_DATA:
        case VP8_STATUS_SUSPENDED:
            return damaged(subject, "the data of its picture ends early");
        default:
            return damaged(subject, "the data of its picture is wrong");
    }
}

// Decodes the frame's bytes to rows of `channels` bytes per pixel that lie stride_bytes apart. VP8_STATUS_USER_ABORT
// when cancelled.
VP8StatusCode decode_frame(const WebPIterator& frame, int channels, std::uint8_t* pixels, std::size_t stride_bytes,
                           const CancelToken* cancel) {
    WebPDecoderConfig config;
    if (WebPInitDecoderConfig(&config) == 0) return VP8_STATUS_INVALID_PARAM;
    config.output.colorspace = channels == 4 ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = pixels;
    config.output.u.RGBA.stride = static_cast<int>(stride_bytes);
    // Up to the end of the last row's pixels: behind it other pixels, or nothing, may stand.
    config.output.u.RGBA.size =
        stride_bytes * static_cast<std::size_t>(frame.height - 1) + static_cast<std::size_t>(frame.width) * channels;
    const Decoder decoder(WebPIDecode(nullptr, 0, &config));
    if (!decoder) return VP8_STATUS_OUT_OF_MEMORY;
    const std::size_t bytes = frame.fragment.size;
    const std::size_t piece = std::max(kLeastPieceBytes, bytes / kMaxPieces);
    VP8StatusCode status = VP8_STATUS_SUSPENDED;
    for (std::size_t given = 0; given < bytes && status == VP8_STATUS_SUSPENDED;) {
        if (cancelled(cancel)) return VP8_STATUS_USER_ABORT;
        given += std::min(piece, bytes - given);
        status = WebPIUpdate(decoder.get(), frame.fragment.bytes, given);
    }
    return status;
}

// The bytes of a chunk, which lie in the file.
std::span<const std::byte> read_chunk(const Demuxer& demuxer, const char (&name)[5]) {
    WebPChunkIterator iterator = {};
    std::span<const std::byte> bytes;
    if (WebPDemuxGetChunk(demuxer.get(), name, 1, &iterator) != 0)
        bytes = std::as_bytes(std::span(iterator.chunk.bytes, iterator.chunk.size));
    WebPDemuxReleaseChunkIterator(&iterator);
    return bytes;
}

}  // namespace

Result<Decoded> decode_webp(std::span<const std::byte> encoded, std::string_view subject,
                            const DecodeOptions& options) {
    const WebPData data = {reinterpret_cast<const std::uint8_t*>(encoded.data()), encoded.size()};
    const Demuxer demuxer(WebPDemux(&data));
    if (!demuxer)
        return damaged(subject, "its chunks do not fit into its " + std::to_string(encoded.size()) + " bytes");
    FirstFrame first;
    const WebPIterator& frame = first.iterator;
    WebPBitstreamFeatures whole, part;
    if (WebPDemuxGetFrame(demuxer.get(), 1, &first.iterator) == 0 || frame.complete == 0 ||
        WebPGetFeatures(data.bytes, data.size, &whole) != VP8_STATUS_OK ||
        WebPGetFeatures(frame.fragment.bytes, frame.fragment.size, &part) != VP8_STATUS_OK)
        return damaged(subject, "it has no whole frame");

    const std::uint32_t width = WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_WIDTH);
    const std::uint32_t height = WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_HEIGHT);
    // A picture of one color takes no bits per pixel: there is no least size.
    // The library holds a lossless frame in four bytes a pixel while it decodes, and we one with alpha.
    const std::uint64_t frame_bytes = std::uint64_t{4} * frame.width * frame.height;
    constexpr int kLossless = 2;
    const std::uint64_t working = (part.format == kLossless ? frame_bytes : 0) + (whole.has_alpha ? frame_bytes : 0);
    if (auto error = check_size(width, height, 0, encoded.size(), subject, options, working)) return *error;
    const auto inside = [](std::int64_t offset, std::int64_t length, std::int64_t limit) {
        return offset >= 0 && length >= 1 && offset + length <= limit;
    };
    if (!inside(frame.x_offset, frame.width, width) || !inside(frame.y_offset, frame.height, height) ||
        part.width != frame.width || part.height != frame.height)
        return damaged(subject, "its first frame does not fit onto its canvas of " + std::to_string(width) + " x " +
                                    std::to_string(height) + " pixels");

    // Around a frame that is smaller than the canvas, pixels are transparent, or black in a file without alpha.
    INKSTONE_TRY(Image image, allocate_image(static_cast<int>(width), static_cast<int>(height), options.cancel));
    const auto target = [&](int y) { return image.row(frame.y_offset + y) + std::size_t{3} * frame.x_offset; };
    if (whole.has_alpha == 0) {
        const VP8StatusCode status = decode_frame(frame, 3, target(0), std::size_t{3} * width, options.cancel);
        if (status != VP8_STATUS_OK) return failure(status, subject);
    } else {
        const std::size_t row_bytes = std::size_t{4} * frame.width;
        std::vector<std::uint8_t> rgba(row_bytes * frame.height);
        const VP8StatusCode status = decode_frame(frame, 4, rgba.data(), row_bytes, options.cancel);
        if (status != VP8_STATUS_OK) return failure(status, subject);
        if (part.width < image.width || part.height < image.height)
            for (std::size_t i = 0; i < image.pixels.size(); i += 3)
                std::copy(options.background.begin(), options.background.end(), image.pixels.begin() + i);
        for (int y = 0; y < frame.height; ++y) {
            INKSTONE_CHECK(check_cancel(subject, options));
            compose_row(rgba.data() + y * row_bytes, options.background, frame.width, target(y));
        }
    }
    return Decoded{std::move(image), choose_orientation(read_chunk(demuxer, "EXIF"), read_chunk(demuxer, "XMP "))};
}

}  // namespace inkstone::image
