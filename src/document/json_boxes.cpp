// The form that the official prompt for JSON asks for, and the one that the model prints for layouts. Each item is
// parsed alone, so that an answer that was cut gives the items before the cut, and one bad item costs only itself.
#include "document/box_forms.h"
#include "format/json.h"

namespace inkstone::document {
namespace {

// Where the object that begins at `open` ends, behind its brace; npos when it does not end.
std::size_t object_end(std::string_view text, std::size_t open) {
    std::size_t depth = 0;
    bool quoted = false;
    for (std::size_t i = open; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted) {
            if (c == '\\')
                ++i;
            else if (c == '"')
                quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{') {
            ++depth;
        } else if (c == '}' && --depth == 0) {
            return i + 1;
        }
    }
    return std::string_view::npos;
}

// Adds the whole numbers of a list, and of lists in it, to `numbers`; false when there is anything else.
bool collect(const format::Json& value, std::vector<long>& numbers, int depth) {
    if (value.is_list()) {
        const auto elements = value.list("");
        if (!elements || depth == 0) return false;
        for (const format::Json& element : *elements)
            if (!collect(element, numbers, depth - 1)) return false;
        return true;
    }
    const auto number = value.is_number() ? value.number("", 0, kNormalizedSide) : Error{};
    if (!number || numbers.size() == 2 * kMaximumCorners) return false;
    numbers.push_back(static_cast<long>(*number));
    return static_cast<double>(numbers.back()) == *number;
}

// The text of a key; empty when there is none, or when it is no text.
std::string text_of(const format::Json& item, std::string_view key) {
    const auto text = item.text_or(key, "");
    return text ? std::string(trimmed(*text)) : std::string();
}

std::optional<Box> box_of_item(std::string_view object) {
    const auto item = format::Json::parse(object, "answer");
    if (!item) return std::nullopt;
    auto region = item->member("box");
    if (!region) region = item->member("bbox");
    if (!region) return std::nullopt;
    std::vector<long> numbers;
    if (region->is_text()) {
        const auto text = region->text("");
        const auto inside = text ? numbers_in(*text) : std::nullopt;
        if (!inside) return std::nullopt;
        numbers = *inside;
    } else if (!region->is_list() || !collect(*region, numbers, 2)) {
        return std::nullopt;
    }
    const auto points = points_of(numbers);
    if (!points) return std::nullopt;
    const std::string label = text_of(*item, "layout_type");
    return box_of(*points, text_of(*item, "text"), label_of(label));
}

}  // namespace

std::vector<Box> parse_json_boxes(std::string_view answer) {
    std::vector<Box> boxes;
    for (std::size_t open = answer.find('{'); open != std::string_view::npos; open = answer.find('{', open)) {
        const std::size_t end = object_end(answer, open);
        if (end == std::string_view::npos) break;
        if (auto box = box_of_item(answer.substr(open, end - open))) boxes.push_back(std::move(*box));
        open = end;
    }
    return boxes;
}

}  // namespace inkstone::document
