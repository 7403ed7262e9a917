// The subcommand check: is a model's folder whole and does it compute? Used by main.cpp.
#pragma once

#include "common/exit_status.h"
#include "common/messages.h"
#include "common/output.h"
#include "hunyuan_ocr/options.h"

namespace inkstone::app {

// Writes what was checked, one item a line or as one JSON object, and says on standard error what failed. Throws Error
// when cancelled.
Exit check_package(const Options& options, Output& output, ProgressLine& progress);

}  // namespace inkstone::app
