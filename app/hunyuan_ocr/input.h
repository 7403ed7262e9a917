// One picture from standard input. Used by pages.cpp.
#pragma once

#include <cstddef>
#include <vector>

#include "hunyuan_ocr/runtime.h"

namespace inkstone::app {

// Reads to the end of standard input. Throws hunyuan_ocr::Error: io, unsupported (more than a picture can be) or
// cancelled.
std::vector<std::byte> read_standard_input(const hunyuan_ocr::CancelToken& cancel);

}  // namespace inkstone::app
