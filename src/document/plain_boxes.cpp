// Boxes behind their texts: "text(x1,y1),(x2,y2)". Printed text may hold parentheses and coordinates of its own, so
// what counts is decided by where numbers stand; docs/document.md has the rules with examples.
#include <algorithm>

#include "document/box_forms.h"
#include "document/quoted.h"

namespace inkstone::document {
namespace {

// More points in a row are no boxes.
constexpr std::size_t kMaximumChain = 2 * kMaximumPerText;

// Points joined by commas: (1,2),(3,4).
struct Chain {
    std::vector<Point> points;
    std::vector<std::size_t> begins;  // of each point in the text
    std::size_t end = 0;
    bool in_range = true;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t skip_spaces(std::string_view text, std::size_t at) {
    return std::min(text.find_first_not_of(' ', at), text.size());
}

// A number of any length; what is out of range comes out as kNormalizedSide + 1.
std::optional<int> number_at(std::string_view text, std::size_t& at) {
    const std::size_t begin = at;
    int number = 0;
    for (; at < text.size() && is_digit(text[at]); ++at)
        number = std::min(number * 10 + (text[at] - '0'), kNormalizedSide + 1);
    return at > begin ? std::optional(number) : std::nullopt;
}

// "(x,y)" at `at`, which moves behind it.
std::optional<Point> point_at(std::string_view text, std::size_t& at) {
    std::size_t i = at;
    if (i == text.size() || text[i] != '(') return std::nullopt;
    i = skip_spaces(text, i + 1);
    const auto x = number_at(text, i);
    i = skip_spaces(text, i);
    if (!x || i == text.size() || text[i] != ',') return std::nullopt;
    i = skip_spaces(text, i + 1);
    const auto y = number_at(text, i);
    i = skip_spaces(text, i);
    if (!y || i == text.size() || text[i] != ')') return std::nullopt;
    at = i + 1;
    return Point{*x, *y};
}

Chain chain_at(std::string_view text, std::size_t at) {
    Chain chain;
    chain.end = at;
    for (std::size_t next = at;;) {
        const std::size_t begin = next;
        const auto point = point_at(text, next);
        if (!point) break;
        chain.points.push_back(*point);
        chain.begins.push_back(begin);
        chain.in_range = chain.in_range && point->x <= kNormalizedSide && point->y <= kNormalizedSide;
        chain.end = next;
        if (next == text.size() || text[next] != ',') break;
        next = skip_spaces(text, next + 1);
    }
    return chain;
}

// Whether two points run from top left to bottom right, as those of a rectangle do. Opposite sides of a quadrilateral
// run in opposite directions, so that of its two pairs at least one does not.
bool runs_down(const Point& from, const Point& to) { return from.x <= to.x && from.y <= to.y && from != to; }

bool is_number_of_rectangles(const std::vector<Point>& points) {
    if (points.size() % 2 != 0 || points.size() > kMaximumChain) return false;
    for (std::size_t i = 0; i < points.size(); i += 2)
        if (!runs_down(points[i], points[i + 1])) return false;
    return true;
}

// The boxes of a chain, each as its points; the points before them belong to the text.
std::vector<std::vector<Point>> boxes_of(const std::vector<Point>& points) {
    std::vector<std::vector<Point>> boxes;
    if (is_number_of_rectangles(points)) {
        for (std::size_t i = 0; i < points.size(); i += 2) boxes.push_back({points[i], points[i + 1]});
    } else if (points.size() == 4) {
        boxes.push_back(points);
    } else {
        boxes.push_back({points.end() - 2, points.end()});
    }
    return boxes;
}

// Whether a line ends at `at`.
bool line_ends(std::string_view text, std::size_t at) {
    at = std::min(text.find_first_not_of(" \t\r", at), text.size());
    return at == text.size() || text[at] == '\n';
}

class PlainParser {
public:
    explicit PlainParser(std::string_view text) : text_(text), quoted_(text) {}

    std::vector<Box> parse() {
        for (std::size_t at = 0; at < text_.size();) {
            if (const std::size_t end = quoted_.end_of_part_at(at); end > at)
                at = end;
            else if (text_[at] == '(')
                at = read_chain(at);
            else
                ++at;
        }
        return std::move(boxes_);
    }

private:
    // Reads what may be coordinates at a parenthesis; gives where to read on.
    std::size_t read_chain(std::size_t at) {
        const Chain chain = chain_at(text_, at);
        if (chain.points.size() < 2) return std::max(chain.end, at + 1);
        if (!chain.in_range || chain.points.size() > kMaximumChain) {
            // Coordinates that no picture has: neither a box nor part of the next item's text.
            if (line_ends(text_, chain.end)) begin_item(chain.end, false);
            return chain.end;
        }
        const auto found = boxes_of(chain.points);
        std::size_t used = 0;
        for (const auto& points : found) used += points.size();
        const std::size_t begin = chain.begins[chain.points.size() - used];
        std::string_view text = trimmed(text_.substr(item_, begin - item_));
        // Further boxes of the text before, on the same line.
        const bool further =
            shares_ && text.empty() && text_.substr(item_, begin - item_).find('\n') == std::string_view::npos;
        // Coordinates with nothing before and a box right behind are the text of that box.
        if (text.empty() && !further && chain.end < text_.size() && text_[chain.end] == '(' &&
            is_box(chain_at(text_, chain.end)))
            return chain.end;
        if (further)
            text = shared_text_;
        else
            shared_ = 0;
        for (const auto& points : found) {
            if (shared_ == kMaximumPerText) break;
            if (auto box = box_of(points, text)) boxes_.push_back(std::move(*box));
            ++shared_;
        }
        shared_text_ = text;
        begin_item(chain.end, true);
        return chain.end;
    }

    static bool is_box(const Chain& chain) {
        return chain.points.size() >= 2 && chain.points.size() <= kMaximumChain && chain.in_range;
    }

    void begin_item(std::size_t at, bool shares) {
        item_ = at;
        shares_ = shares;
    }

    std::string_view text_;
    QuotedParts quoted_;
    std::vector<Box> boxes_;
    std::size_t item_ = 0;  // where the text of the next box begins
    bool shares_ = false;   // whether a box that follows at once has the text of the last
    std::string_view shared_text_;
    std::size_t shared_ = 0;  // boxes that have it
};

}  // namespace

std::vector<Box> parse_plain_boxes(std::string_view answer) { return PlainParser(answer).parse(); }

}  // namespace inkstone::document
