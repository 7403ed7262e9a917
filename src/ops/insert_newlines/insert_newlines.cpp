// InsertNewlines on the CPU.
#include "ops/insert_newlines/insert_newlines.h"

#include <cstring>

namespace inkstone::ops::insert_newlines {

void run(const Arguments& arguments, std::size_t first_line, std::size_t end_line) {
    const std::size_t width = arguments.width, line_floats = arguments.columns * width;
    for (std::size_t line = first_line; line < end_line; ++line) {
        float* to = arguments.y + line * (line_floats + width);
        std::memcpy(to, arguments.x + line * line_floats, line_floats * sizeof(float));
        std::memcpy(to + line_floats, arguments.newline, width * sizeof(float));
    }
}

}  // namespace inkstone::ops::insert_newlines
