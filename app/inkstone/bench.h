// The subcommand bench: measures a model and prints what was reached beside what the machine can do.
#pragma once

#include <span>
#include <string_view>

#include "common/exit_status.h"
#include "common/output.h"

namespace inkstone::app {

// arguments: those after the subcommand's name. Throws hunyuan_ocr::Error.
Exit run_bench(std::span<const std::string_view> arguments, Output& output);

}  // namespace inkstone::app
