// InsertNewlines: appends one row to every `columns` rows, marking the end of a line of visual tokens:
// [lines * columns, width] -> [lines * (columns + 1), width]. Copying: one form serves all.
#pragma once

#include <cstddef>

namespace inkstone::ops::insert_newlines {

struct Arguments {
    const float* x = nullptr;        // [lines * columns, width]
    const float* newline = nullptr;  // [width]
    float* y = nullptr;              // [lines * (columns + 1), width]
    std::size_t lines = 0, columns = 0, width = 0;
};

// Lines [first_line, end_line). Disjoint ranges may run at once.
void run(const Arguments& arguments, std::size_t first_line, std::size_t end_line);

}  // namespace inkstone::ops::insert_newlines
