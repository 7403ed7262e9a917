// Boxes in tags. The text of a region is what stands before its tags, tables with tags of their own included, or what
// stands in <ref>, which may come first or last.
#include <algorithm>

#include "document/box_forms.h"

namespace inkstone::document {
namespace {

constexpr std::string_view kMeta = "<hy-meta>", kMetaEnd = "</hy-meta>", kLayout = "<layout>", kLayoutEnd = "</layout>",
                           kReference = "<ref>", kReferenceEnd = "</ref>";
constexpr std::size_t kMaximumRegionBytes = 512;  // of numbers and what is between them

struct Region {
    std::size_t begin = 0, end = 0;  // of the tags
    std::optional<std::vector<Point>> points;
};

// The next <quad> or <poly> with its end.
std::optional<Region> next_region(std::string_view text, std::size_t from) {
    for (std::size_t open = text.find('<', from); open != std::string_view::npos; open = text.find('<', open + 1)) {
        const std::string_view rest = text.substr(open);
        for (const auto& [tag, closing] : {std::pair<std::string_view, std::string_view>{"<quad>", "</quad>"},
                                           std::pair<std::string_view, std::string_view>{"<poly>", "</poly>"}}) {
            if (!rest.starts_with(tag)) continue;
            const std::string_view inside = rest.substr(tag.size(), kMaximumRegionBytes);
            const std::size_t length = inside.find(closing);
            if (length == std::string_view::npos) continue;
            Region region{open, open + tag.size() + length + closing.size(), std::nullopt};
            if (const auto numbers = numbers_in(inside.substr(0, length))) region.points = points_of(*numbers);
            return region;
        }
    }
    return std::nullopt;
}

// What stands before a region: its text and its label, out of the tags around them.
struct Before {
    std::string_view text, label;
    bool named = false;  // in tags: even an empty text is the region's own
};

Before before_region(std::string_view before) {
    if (const std::size_t meta = before.rfind(kMeta); meta != std::string_view::npos) {
        std::string_view label = before.substr(meta + kMeta.size());
        const std::size_t open = label.find(kLayout), close = label.find(kLayoutEnd);
        label = open != std::string_view::npos && close != std::string_view::npos && open < close
                    ? label.substr(open + kLayout.size(), close - open - kLayout.size())
                    : std::string_view();
        return {trimmed(before.substr(0, meta)), label_of(label), true};
    }
    before = trimmed(before);
    if (before.ends_with(kReferenceEnd))
        if (const std::size_t open = before.rfind(kReference); open != std::string_view::npos) {
            before.remove_suffix(kReferenceEnd.size());
            return {trimmed(before.substr(open + kReference.size())), {}, true};
        }
    return {before, {}, false};
}

}  // namespace

std::vector<Box> parse_tagged_boxes(std::string_view answer) {
    std::vector<Box> boxes;
    std::size_t item = 0;          // where what belongs to the next region begins
    std::size_t shared = 0;        // regions so far that have the text of the last
    bool reference_behind = true;  // until a </ref> is not found
    while (const auto region = next_region(answer, item)) {
        Before before = before_region(answer.substr(item, region->begin - item));
        item = region->end;
        std::string_view rest = answer.substr(item);
        if (rest.starts_with(kMetaEnd)) {
            item += kMetaEnd.size();
        } else if (!before.named && before.text.empty() && rest.starts_with(kReference) && reference_behind) {
            const std::size_t length = rest.find(kReferenceEnd);
            reference_behind = length != std::string_view::npos;
            if (reference_behind) {
                before = {trimmed(rest.substr(kReference.size(), length - kReference.size())), {}, true};
                item += length + kReferenceEnd.size();
            }
        }
        if (!region->points) continue;
        // A further region directly behind one has the same text.
        const bool further = !before.named && before.text.empty() && !boxes.empty();
        shared = further ? shared + 1 : 0;
        if (shared >= kMaximumPerText) continue;
        auto box =
            further ? box_of(*region->points, boxes.back().text) : box_of(*region->points, before.text, before.label);
        if (box) boxes.push_back(std::move(*box));
    }
    return boxes;
}

}  // namespace inkstone::document
