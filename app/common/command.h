// What every command's main does: streams, signals, and failures as exit codes.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "common/exit_status.h"
#include "common/output.h"

namespace inkstone::app {

// Runs the command's body with signal handlers in place; what it throws is said on standard error and becomes the exit
// code that is returned.
int run_command(const std::function<Exit()>& body);

// The exit code after a signal or a failed write, if there was one.
std::optional<Exit> exit_of_stop(const Output& output);

// Writes the text and ends the output.
Exit print(Output& output, std::string_view text);

}  // namespace inkstone::app
