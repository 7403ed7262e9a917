// What --stats prints on standard error for each picture. Used by pages.cpp.
#pragma once

#include <string>
#include <string_view>

#include "hunyuan_ocr/runtime.h"

namespace inkstone::app {

// What --stats prints before one picture is read: memory by purpose, and about how long it takes.
std::string estimate_text(std::string_view name, const hunyuan_ocr::Estimate& estimate);

// Memory by purpose, without a newline: for --stats and --verbose.
std::string memory_text(const hunyuan_ocr::Profile& profile);

// What --stats prints after it: sizes, stage times, speeds, memory.
std::string statistics_text(std::string_view name, const hunyuan_ocr::Result& result);

}  // namespace inkstone::app
