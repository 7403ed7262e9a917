// Boxes in an answer: the model prints where it read something as numbers from 0 to 1000, whatever the size of the
// picture. Here they become rectangles in pixels, each with its text. docs/document.md lists the forms that are read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace inkstone::document {

struct Point {
    int x = 0, y = 0;
    bool operator==(const Point&) const = default;
};

// Edges, not rows and columns: right and bottom lie behind the last pixel, so that (0, 0, width, height) is the whole.
struct Rectangle {
    int left = 0, top = 0, right = 0, bottom = 0;
    bool operator==(const Rectangle&) const = default;
};

struct Box {
    std::string text;      // what stands there, without white space around it; may be empty
    std::string label;     // the kind of region ("title", "table") when the model names it
    Rectangle normalized;  // as printed, 0 to 1000; around the corners when there are any
    Rectangle pixels;      // of a picture of the size given to parse_boxes
    // Empty for a rectangle, which is printed as two corners; else 3 to 8 corners in the order of print.
    std::vector<Point> normalized_corners, pixel_corners;
};

// The boxes of an answer in the order of print, for a picture of `width` x `height` pixels (above 0). What is no box
// (numbers out of range or malformed, coordinates in a table or a formula) is left alone: `answer` is any bytes, no
// input is an error, and time and memory are linear in its length. Throws std::bad_alloc only.
std::vector<Box> parse_boxes(std::string_view answer, int width, int height);

}  // namespace inkstone::document
