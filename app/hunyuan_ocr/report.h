// What the command says on standard error: failures, notes, a progress line, statistics. Used by main.cpp and
// pages.cpp.
#pragma once

#include <string>
#include <string_view>

#include "hunyuan_ocr/runtime.h"

namespace inkstone::app {

// "hunyuan-ocr: text" and a newline on standard error.
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

// What --stats prints before one picture is read: memory by purpose, and about how long it takes.
std::string estimate_text(std::string_view name, const hunyuan_ocr::Estimate& estimate);

// Memory by purpose, without a newline: for --stats and --verbose.
std::string memory_text(const hunyuan_ocr::Profile& profile);

// What --stats prints after it: sizes, stage times, speeds, memory.
std::string statistics_text(std::string_view name, const hunyuan_ocr::Result& result);

}  // namespace inkstone::app
