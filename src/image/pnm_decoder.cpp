// PNM, read by hand: bitmaps, graymaps and pixmaps, plain (P1 P2 P3) and raw (P4 P5 P6), and PAM (P7) of 1 to 4
// samples per pixel. Samples are scaled from their largest value to 255.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "image/codec.h"

namespace inkstone::image {

namespace {

struct Header {
    std::uint64_t width = 0, height = 0;
    unsigned samples = 1;   // per pixel: grey, grey and alpha, RGB, RGBA
    std::uint32_t top = 1;  // the largest sample
    bool plain = false;     // samples as decimal digits
    bool bitmap = false;    // one bit per pixel, 1 is black
};

Error malformed(std::string_view subject, const std::string& reason) {
    return decode_error(ErrorCode::malformed, subject, "the PNM file " + reason + "; the file is cut short or damaged");
}

// Takes words and numbers from the front of the text.
class Scanner {
public:
    explicit Scanner(std::string_view text) : rest_(text) {}

    // The next word, behind white space and comments; empty at the end. The byte behind it stays.
    std::string_view word() {
        skip();
        std::size_t length = 0;
        while (length < rest_.size() && !is_space(rest_[length]) && rest_[length] != '#') ++length;
        const std::string_view found = rest_.substr(0, length);
        rest_.remove_prefix(length);
        return found;
    }

    // The next word as a number from 0 to `limit`; nothing when it is something else.
    std::optional<std::uint32_t> number(std::uint32_t limit) {
        const std::string_view digits = word();
        if (digits.empty()) return std::nullopt;
        std::uint64_t value = 0;
        for (const char digit : digits) {
            if (digit < '0' || digit > '9') return std::nullopt;
            value = value * 10 + static_cast<std::uint64_t>(digit - '0');
            if (value > limit) return std::nullopt;
        }
        return static_cast<std::uint32_t>(value);
    }

    // The next byte that is neither white space nor comment.
    std::optional<char> character() {
        skip();
        if (rest_.empty()) return std::nullopt;
        const char found = rest_[0];
        rest_.remove_prefix(1);
        return found;
    }

    // The rest of the line, which is taken, too.
    void skip_line() { rest_.remove_prefix(std::min(rest_.size(), rest_.find_first_of("\r\n"))); }

    // The one byte of white space between header and raw samples.
    bool separator() {
        if (rest_.empty() || !is_space(rest_[0])) return false;
        rest_.remove_prefix(1);
        return true;
    }

    std::string_view rest() const { return rest_; }

private:
    static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

    void skip() {
        while (!rest_.empty() && (is_space(rest_[0]) || rest_[0] == '#')) {
            if (rest_[0] == '#')
                skip_line();
            else
                rest_.remove_prefix(1);
        }
    }

    std::string_view rest_;
};

constexpr std::uint32_t kMaxSide = std::numeric_limits<int>::max();
constexpr std::uint32_t kMaxTop = 65535;

// P1 to P6: width, height and, but for bitmaps, the largest sample.
std::optional<Header> read_header(Scanner& scanner, char kind) {
    Header header;
    header.plain = kind <= '3';
    header.bitmap = kind == '1' || kind == '4';
    header.samples = kind == '3' || kind == '6' ? 3 : 1;
    const auto width = scanner.number(kMaxSide);
    const auto height = scanner.number(kMaxSide);
    const auto top = header.bitmap ? 1U : scanner.number(kMaxTop);
    if (!width || !height || !top || *top == 0 || !scanner.separator()) return std::nullopt;
    header.width = *width;
    header.height = *height;
    header.top = *top;
    return header;
}

// P7: lines of a name and a value, in any order. The tuple type says what the samples mean, and so does their number.
std::optional<Header> read_pam_header(Scanner& scanner) {
    std::optional<std::uint32_t> width, height, depth, top;
    for (std::string_view name = scanner.word(); name != "ENDHDR"; name = scanner.word()) {
        if (name == "WIDTH")
            width = scanner.number(kMaxSide);
        else if (name == "HEIGHT")
            height = scanner.number(kMaxSide);
        else if (name == "DEPTH")
            depth = scanner.number(4);
        else if (name == "MAXVAL")
            top = scanner.number(kMaxTop);
        else if (name == "TUPLTYPE")
            scanner.skip_line();
        else
            return std::nullopt;
    }
    if (!width || !height || !depth || !top || *depth == 0 || *top == 0 || !scanner.separator()) return std::nullopt;
    return Header{*width, *height, *depth, *top, false, false};
}

// Takes the samples one after the other; nothing at the end, or at what is no sample. Of raw samples all are there.
class Samples {
public:
    Samples(Scanner scanner, const Header& header) : scanner_(scanner), header_(header) {}

    std::optional<std::uint32_t> next() {
        if (header_.plain) {
            if (!header_.bitmap) return scanner_.number(header_.top);
            const auto digit = scanner_.character();
            if (digit != '0' && digit != '1') return std::nullopt;
            return *digit == '0';
        }
        const std::string_view bytes = scanner_.rest();
        if (header_.bitmap) {
            const std::uint32_t bit = static_cast<std::uint8_t>(bytes[at_ / 8]) >> (7 - at_ % 8) & 1U;
            ++at_;
            return 1 - bit;
        }
        std::uint32_t value = static_cast<std::uint8_t>(bytes[at_++]);
        if (header_.top > 255) value = value << 8 | static_cast<std::uint8_t>(bytes[at_++]);
        return std::min(value, header_.top);
    }

    // Rows of raw bitmaps begin at whole bytes.
    void end_row() {
        if (header_.bitmap) at_ = (at_ + 7) / 8 * 8;
    }

private:
    Scanner scanner_;
    const Header& header_;
    std::size_t at_ = 0;  // of raw samples: the byte, or the bit of a bitmap
};

// How many bytes the samples take, at least. The picture's size has been checked: nothing overflows.
std::uint64_t least_sample_bytes(const Header& header) {
    if (header.bitmap) return header.plain ? header.width * header.height : (header.width + 7) / 8 * header.height;
    const std::uint64_t count = header.width * header.height * header.samples;
    if (header.plain) return count * 2 - 1;  // a digit each, and a space between them
    return header.top > 255 ? count * 2 : count;
}

}  // namespace

Result<Decoded> decode_pnm(std::span<const std::byte> encoded, std::string_view subject, const DecodeOptions& options) {
    const std::string_view text(reinterpret_cast<const char*>(encoded.data()), encoded.size());
    const char kind = text[1];
    Scanner scanner(text.substr(2));
    const std::optional<Header> header = kind == '7' ? read_pam_header(scanner) : read_header(scanner, kind);
    if (!header) return malformed(subject, "has a header that is not whole, or a number in it that is out of range");
    if (auto error = check_size(header->width, header->height, 0, encoded.size(), subject, options)) return *error;
    if (auto error = check_size(header->width, header->height, least_sample_bytes(*header), scanner.rest().size(),
                                subject, options))
        return *error;

    // Rounded to nearest, halves to even, as Python rounds.
    std::vector<std::uint8_t> scaled(header->top + 1);
    for (std::uint32_t value = 0; value <= header->top; ++value)
        scaled[value] = static_cast<std::uint8_t>(std::nearbyint(double(value) / double(header->top) * 255));

    INKSTONE_TRY(Image image,
                 allocate_image(static_cast<int>(header->width), static_cast<int>(header->height), options.cancel));
    Samples samples(scanner, *header);
    for (int y = 0; y < image.height; ++y) {
        INKSTONE_CHECK(check_cancel(subject, options));
        std::uint8_t* rgb = image.row(y);
        for (int x = 0; x < image.width; ++x, rgb += 3) {
            std::array<std::uint8_t, 4> pixel = {};
            for (unsigned i = 0; i < header->samples; ++i) {
                const auto value = samples.next();
                if (!value)
                    return malformed(subject, "has no valid sample for pixel (" + std::to_string(x) + ", " +
                                                  std::to_string(y) + ") in its " + std::to_string(encoded.size()) +
                                                  " bytes");
                pixel[i] = scaled[*value];
            }
            if (header->samples <= 2) pixel = {pixel[0], pixel[0], pixel[0], pixel[1]};
            const unsigned alpha = header->samples % 2 == 0 ? pixel[3] : 255;
            for (std::size_t channel = 0; channel < 3; ++channel)
                rgb[channel] = compose(pixel[channel], alpha, options.background[channel]);
        }
        samples.end_row();
    }
    return Decoded{std::move(image)};
}

}  // namespace inkstone::image
