// What the commands say on standard error: failures, notes, a progress line.
#pragma once

#include <string>
#include <string_view>

#include "hunyuan_ocr/runtime.h"

namespace inkstone::app {

// "COMMAND: text" and a newline on standard error.
void say(std::string_view text);

// The text with control characters as \xNN: names from outside can neither break a line nor steer a terminal.
std::string one_line(std::string_view text);

// One line, rewritten in place, that says how far the work is. Shown only when standard error is a terminal.
class ProgressLine {
public:
    explicit ProgressLine(bool quiet);
    ~ProgressLine() { clear(); }
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void show(std::string_view subject, const hunyuan_ocr::Progress& progress);
    // Removes the line, so that something else can be printed.
    void clear();

private:
    bool enabled_;
    bool shown_ = false;
};

}  // namespace inkstone::app
