// Reads the pictures of a command line one after another with one loaded model. Called by main.cpp.
#pragma once

#include "common/exit_status.h"
#include "common/output.h"
#include "hunyuan_ocr/options.h"
#include "common/messages.h"

namespace inkstone::app {

// Each picture's answer goes to `output` (text as it comes, or a line of JSON); a picture that fails is reported and
// the rest go on. Stops early only when cancelled or when `output` fails, both of which the caller sees for itself.
Exit read_pages(hunyuan_ocr::Runtime& runtime, const Options& options, Output& output, ProgressLine& progress);

}  // namespace inkstone::app
