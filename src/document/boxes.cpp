// Chooses the form of an answer, and turns normalised numbers into pixels.
#include "document/boxes.h"

#include <algorithm>
#include <cstdint>

#include "document/box_forms.h"

namespace inkstone::document {
namespace {

// Rounded down, as the official helper does. The product needs 64 bits for no picture that fits in memory, but costs
// nothing.
int pixel(int normalized, int side) { return static_cast<int>(std::int64_t{normalized} * side / kNormalizedSide); }

Point pixel(const Point& point, int width, int height) { return {pixel(point.x, width), pixel(point.y, height)}; }

// Without the wrapping that some prompts lead to: <answer> tags, a code fence around the whole.
std::string_view unwrapped(std::string_view answer) {
    constexpr std::string_view kOpen = "<answer>", kClose = "</answer>", kFence = "```";
    if (const std::size_t open = answer.find(kOpen); open != std::string_view::npos) {
        answer.remove_prefix(open + kOpen.size());
        answer = answer.substr(0, answer.find(kClose));
    }
    answer = trimmed(answer);
    if (answer.starts_with(kFence)) {
        answer.remove_prefix(std::min(answer.find('\n'), answer.size()));
        answer = trimmed(answer);
        if (answer.ends_with(kFence)) answer.remove_suffix(kFence.size());
    }
    return trimmed(answer);
}

// Whether an answer is of the tagged form. Then coordinates outside whole tags are none, as in a cut answer.
bool has_tags(std::string_view answer) {
    for (const std::string_view tag : {"<hy-meta>", "<quad>(", "<poly>("})
        if (answer.find(tag) != std::string_view::npos) return true;
    return false;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kSpace = " \t\r\n";
    const std::size_t first = text.find_first_not_of(kSpace);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
}

std::string_view label_of(std::string_view printed) {
    printed = trimmed(printed);
    return printed.size() <= kMaximumLabelBytes ? printed : std::string_view();
}

std::optional<std::vector<Point>> points_of(const std::vector<long>& numbers) {
    if (numbers.size() % 2 != 0) return std::nullopt;
    std::vector<Point> points;
    for (std::size_t i = 0; i < numbers.size(); i += 2) {
        for (const long number : {numbers[i], numbers[i + 1]})
            if (number < 0 || number > kNormalizedSide) return std::nullopt;
        points.push_back({static_cast<int>(numbers[i]), static_cast<int>(numbers[i + 1])});
    }
    return points;
}

std::optional<std::vector<long>> numbers_in(std::string_view text) {
    constexpr std::string_view kBetween = "()[]<>, \t\r\npos_";
    std::vector<long> numbers;
    for (std::size_t i = 0; i < text.size();) {
        if (text[i] < '0' || text[i] > '9') {
            if (kBetween.find(text[i]) == std::string_view::npos) return std::nullopt;
            ++i;
            continue;
        }
        long number = 0;
        for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i)
            number = std::min(number * 10 + (text[i] - '0'), kNormalizedSide + 1L);
        numbers.push_back(number);
        if (numbers.size() > 2 * kMaximumCorners) return std::nullopt;
    }
    return numbers;
}

std::optional<Box> box_of(const std::vector<Point>& points, std::string_view text, std::string_view label) {
    if (points.size() < 2 || points.size() > kMaximumCorners) return std::nullopt;
    Box box;
    box.text = text;
    box.label = label;
    const auto [left, right] = std::ranges::minmax(points, {}, &Point::x);
    const auto [top, bottom] = std::ranges::minmax(points, {}, &Point::y);
    box.normalized = {left.x, top.y, right.x, bottom.y};
    if (points.size() > 2) box.normalized_corners = points;
    return box;
}

std::vector<Box> parse_boxes(std::string_view answer, int width, int height) {
    const std::string_view inside = unwrapped(answer);
    std::vector<Box> boxes;
    if (inside.starts_with('[') || inside.starts_with('{')) boxes = parse_json_boxes(inside);
    if (boxes.empty()) boxes = parse_tagged_boxes(inside);
    if (boxes.empty() && !has_tags(inside)) boxes = parse_plain_boxes(inside);
    for (Box& box : boxes) {
        const Point from = pixel({box.normalized.left, box.normalized.top}, width, height);
        const Point to = pixel({box.normalized.right, box.normalized.bottom}, width, height);
        box.pixels = {from.x, from.y, to.x, to.y};
        for (const Point& corner : box.normalized_corners) box.pixel_corners.push_back(pixel(corner, width, height));
    }
    return boxes;
}

}  // namespace inkstone::document
