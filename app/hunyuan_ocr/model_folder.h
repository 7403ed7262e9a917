// Which model a run uses. Used by main.cpp and check_package.cpp.
#pragma once

#include <filesystem>

#include "hunyuan_ocr/options.h"

namespace inkstone::app {

// The model that the options name, as it was given; else the small default model: that of the installation the running
// program belongs to, else that of the source tree it was built from, with a note on standard error. Throws Error
// (not_found) when there is none.
std::filesystem::path model_folder(const Options& options);

}  // namespace inkstone::app
