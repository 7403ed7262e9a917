// The three forms of answers with boxes, each read by one file. Private to document/: others call parse_boxes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "document/boxes.h"

namespace inkstone::document {

inline constexpr int kNormalizedSide = 1000;        // what the model prints for the right and the lower edge
inline constexpr std::size_t kMaximumCorners = 8;   // of one region
inline constexpr std::size_t kMaximumPerText = 16;  // boxes that share a text: each has a copy of it
inline constexpr std::size_t kMaximumLabelBytes = 64;

// Two points: a rectangle, whichever corners they are. 3 to kMaximumCorners: a region with corners. Nothing for other
// numbers of points. The points are in range; pixels are filled later.
std::optional<Box> box_of(const std::vector<Point>& points, std::string_view text, std::string_view label = {});

// Points from a list of numbers x, y, x, y, ...: nothing when one is out of range or their number is odd.
std::optional<std::vector<Point>> points_of(const std::vector<long>& numbers);

// The numbers in what stands between tags or quotes: "(1,2),(3,4)", "[[1,2],[3,4]]", "<pos_1><pos_2>". Nothing when
// there is anything else, or more than a region can have.
std::optional<std::vector<long>> numbers_in(std::string_view text);

std::string_view trimmed(std::string_view text);
// A label as it is printed; empty when it is too long for one.
std::string_view label_of(std::string_view printed);

// text(x1,y1),(x2,y2), items run together or on lines of their own.
std::vector<Box> parse_plain_boxes(std::string_view answer);
// text<hy-meta><layout>kind</layout><poly>...</poly></hy-meta>; <ref>text</ref><quad>...</quad> in either order.
std::vector<Box> parse_tagged_boxes(std::string_view answer);
// [{"box": [x1, y1, x2, y2], "text": "..."}, ...]; a last item that was cut is left out.
std::vector<Box> parse_json_boxes(std::string_view answer);

}  // namespace inkstone::document
