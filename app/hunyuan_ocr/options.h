// The command line as the rest of the command sees it. The only file that knows the command line library is
// options.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hunyuan_ocr/runtime.h"

namespace inkstone::app {

enum class Action { read, list_tasks, check, help, version };

struct Options {
    Action action = Action::read;
    std::vector<std::string> pictures;  // as given; "-" is standard input
    std::string model_dir;              // a folder, or a name in the hub cache; empty: the small default model
    hunyuan_ocr::RuntimeOptions runtime;
    hunyuan_ocr::Prompt prompt;
    hunyuan_ocr::GenerationOptions generation;
    std::string output;  // empty: standard output
    bool json = false, stats = false, verbose = false, quiet = false;
    std::string help;  // the text of --help, when that is the action
};

// What is wrong with a command line, in one sentence with its remedy.
struct UsageError {
    std::string message;
};

// The reserved picture name that stands for standard input.
constexpr std::string_view kStandardInput = "-";

// Reads arguments and HUNYUAN_OCR_MODEL. Options of later versions are refused by name, unknown ones with the nearest
// known name.
std::variant<Options, UsageError> parse_command_line(int argument_count, const char* const* arguments);

}  // namespace inkstone::app
