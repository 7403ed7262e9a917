// Separable resampling as Pillow 13 defines it: the filter's support grows with the reduction (antialiasing), the
// weights of an output sample are normalised in double and rounded to fixed point, and each pass rounds its result to 8
// bits.
#include "image/resize.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <new>
#include <string>
#include <vector>

namespace inkstone::image {

namespace {

// 8 bits of sample and 2 bits of overshoot stay free in a 32-bit sum.
constexpr int kPrecisionBits = 32 - 8 - 2;
constexpr double kBicubicSupport = 2.0;  // source pixels to each side, at ratio 1
constexpr double kBicubicA = -0.5;

double bicubic(double x) {
    x = std::fabs(x);
    if (x < 1.0) return ((kBicubicA + 2.0) * x - (kBicubicA + 3.0)) * x * x + 1.0;
    if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * kBicubicA;
    return 0.0;
}

// For each output position: the first source position, how many follow, and their weights.
struct Coefficients {
    struct Span {
        int first;
        int count;
    };
    int stride = 0;  // weights per output position, of which the first `count` are used
    std::vector<Span> spans;
    std::vector<std::int32_t> weights;  // fixed point, kPrecisionBits after the point

    const std::int32_t* of(int position) const { return weights.data() + static_cast<std::size_t>(position) * stride; }
};

Coefficients make_coefficients(int source_length, int target_length) {
    const double scale = static_cast<double>(source_length) / target_length;
    const double filter_scale = std::max(scale, 1.0);
    const double support = kBicubicSupport * filter_scale;
    const double inverse_filter_scale = 1.0 / filter_scale;

    Coefficients result;
    result.stride = static_cast<int>(std::ceil(support)) * 2 + 1;
    result.spans.resize(target_length);
    result.weights.resize(static_cast<std::size_t>(target_length) * result.stride);
    std::vector<double> exact(result.stride);
    for (int position = 0; position < target_length; ++position) {
        const double center = (position + 0.5) * scale;
        const int first = std::max(0, static_cast<int>(center - support + 0.5));
        const int count = std::min(source_length, static_cast<int>(center + support + 0.5)) - first;
        double sum = 0.0;
        for (int i = 0; i < count; ++i) {
            exact[i] = bicubic((i + first - center + 0.5) * inverse_filter_scale);
            sum += exact[i];
        }
        std::int32_t* weights = result.weights.data() + static_cast<std::size_t>(position) * result.stride;
        for (int i = 0; i < count; ++i) {
            const double weight = (sum != 0.0 ? exact[i] / sum : exact[i]) * (1 << kPrecisionBits);
            weights[i] = static_cast<std::int32_t>(weight < 0 ? weight - 0.5 : weight + 0.5);
        }
        result.spans[position] = {first, count};
    }
    return result;
}

constexpr std::string_view kStage = "resize image";

std::string subject_of(const Image& source) {
    return std::to_string(source.width) + " x " + std::to_string(source.height) + " pixels";
}

constexpr std::int32_t kHalf = 1 << (kPrecisionBits - 1);

std::uint8_t to_sample(std::int32_t sum) {
    return static_cast<std::uint8_t>(std::clamp(sum >> kPrecisionBits, 0, 255));
}

Result<Image> resize_width(const Image& source, int width, const CancelToken* cancel) {
    const Coefficients coefficients = make_coefficients(source.width, width);
    INKSTONE_TRY(Image result, allocate_image(width, source.height, cancel));
    for (int y = 0; y < source.height; ++y) {
        if (cancelled(cancel)) return cancelled_error(kStage, subject_of(source));
        const std::uint8_t* row = source.row(y);
        std::uint8_t* target = result.row(y);
        for (int x = 0; x < width; ++x, target += 3) {
            const auto [first, count] = coefficients.spans[x];
            const std::int32_t* weights = coefficients.of(x);
            const std::uint8_t* pixel = row + static_cast<std::size_t>(first) * 3;
            std::int32_t red = kHalf, green = kHalf, blue = kHalf;
            for (int i = 0; i < count; ++i, pixel += 3) {
                red += pixel[0] * weights[i];
                green += pixel[1] * weights[i];
                blue += pixel[2] * weights[i];
            }
            target[0] = to_sample(red);
            target[1] = to_sample(green);
            target[2] = to_sample(blue);
        }
    }
    return result;
}

Result<Image> resize_height(const Image& source, int height, const CancelToken* cancel) {
    const Coefficients coefficients = make_coefficients(source.height, height);
    INKSTONE_TRY(Image result, allocate_image(source.width, height, cancel));
    const std::size_t row_samples = static_cast<std::size_t>(source.width) * 3;
    std::vector<std::int32_t> sums(row_samples);
    for (int y = 0; y < height; ++y) {
        if (cancelled(cancel)) return cancelled_error(kStage, subject_of(source));
        const auto [first, count] = coefficients.spans[y];
        std::fill(sums.begin(), sums.end(), kHalf);
        for (int i = 0; i < count; ++i) {
            const std::int32_t weight = coefficients.of(y)[i];
            const std::uint8_t* from = source.row(first + i);
            for (std::size_t sample = 0; sample < row_samples; ++sample) sums[sample] += from[sample] * weight;
        }
        std::uint8_t* to = result.row(y);
        for (std::size_t sample = 0; sample < row_samples; ++sample) to[sample] = to_sample(sums[sample]);
    }
    return result;
}

// Pillow 13 takes height first when it loses more than twice as many pixels as width (earlier versions never did). The
// order shows in the last bit, since each pass rounds.
bool height_first(const Image& source, int width, int height) {
    const std::int64_t lost_height = std::int64_t{source.height} - height;
    const std::int64_t lost_width = std::int64_t{source.width} - width;
    return lost_height > 0 && lost_height > 2 * lost_width;
}

}  // namespace

Result<Image> resize_bicubic(const Image& source, int width, int height, const CancelToken* cancel) try {
    for (const int side : {width, height, source.width, source.height})
        if (side < 1 || side > kMaxResizeSide)
            return Error{ErrorCode::invalid_argument, std::string(kStage), subject_of(source),
                         "cannot be made " + std::to_string(width) + " x " + std::to_string(height) +
                             ": each side must lie in 1 to " + std::to_string(kMaxResizeSide) + " pixels"};
    if (width == source.width && height == source.height) return source;

    // A side that keeps its length needs no pass.
    if (height == source.height) return resize_width(source, width, cancel);
    if (width == source.width) return resize_height(source, height, cancel);
    if (height_first(source, width, height)) {
        INKSTONE_TRY(const Image low, resize_height(source, height, cancel));
        return resize_width(low, width, cancel);
    }
    INKSTONE_TRY(const Image narrow, resize_width(source, width, cancel));
    return resize_height(narrow, height, cancel);
} catch (const std::bad_alloc&) {
    return Error{ErrorCode::out_of_memory, std::string(kStage), subject_of(source),
                 "there is no memory to make it " + std::to_string(width) + " x " + std::to_string(height) +
                     ": lower max_pixels"};
}

}  // namespace inkstone::image
