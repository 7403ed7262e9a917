// The exit codes of the command: one table, which --help prints, docs/errors.md explains and the process tests compare.
#pragma once

#include <array>
#include <string_view>

#include "hunyuan_ocr/runtime.h"

namespace inkstone::app {

enum class Exit {
    success = 0,
    pages_failed = 1,
    usage = 2,
    input = 3,
    malformed = 4,
    unsupported = 5,
    mismatch = 6,
    memory = 7,
    context = 8,
    numeric = 9,
    output = 10,
    internal = 11,
    check_failed = 12,
    hung_up = 129,
    interrupted = 130,
    closed_pipe = 141,
    terminated = 143,
};

struct ExitStatus {
    Exit exit;
    std::string_view name;
    std::string_view meaning;
};

inline constexpr std::array kExitStatuses{
    ExitStatus{Exit::success, "success", "every picture was read (an answer cut by a limit counts; stderr says so)"},
    ExitStatus{Exit::pages_failed, "pages failed", "of several pictures at least one could not be read"},
    ExitStatus{Exit::usage, "usage", "the command line is wrong, or asks for what this version has not"},
    ExitStatus{Exit::input, "input", "a file, key, tensor or picture is missing or cannot be read"},
    ExitStatus{Exit::malformed, "malformed", "a picture or a file of the model breaks its format"},
    ExitStatus{Exit::unsupported, "unsupported", "well formed, but not something this build or machine can do"},
    ExitStatus{Exit::mismatch, "mismatch", "parts of the model disagree (shapes, counts, ids)"},
    ExitStatus{Exit::memory, "memory", "not enough memory, or more than --memory-limit"},
    ExitStatus{Exit::context, "context", "picture and prompt have more tokens than the model has positions"},
    ExitStatus{Exit::numeric, "numeric", "a NaN or infinity where a number must be"},
    ExitStatus{Exit::output, "output", "the answer could not be written"},
    ExitStatus{Exit::internal, "internal", "an error of the program itself"},
    ExitStatus{Exit::check_failed, "check failed", "check found a fault of the model's folder"},
    ExitStatus{Exit::hung_up, "hung up", "stopped by SIGHUP (the terminal was closed)"},
    ExitStatus{Exit::interrupted, "interrupted", "stopped by SIGINT (Ctrl-C)"},
    ExitStatus{Exit::closed_pipe, "closed pipe", "the reader of standard output went away; nothing is printed"},
    ExitStatus{Exit::terminated, "terminated", "stopped by SIGTERM"},
};

// The exit code of a failure of the runtime. A cancelled call counts as interrupted: main tells the two signals apart.
constexpr Exit exit_of(hunyuan_ocr::ErrorCode code) {
    using hunyuan_ocr::ErrorCode;
    switch (code) {
        case ErrorCode::invalid_argument:
            return Exit::usage;
        case ErrorCode::not_found:
        case ErrorCode::io:
            return Exit::input;
        case ErrorCode::malformed:
            return Exit::malformed;
        case ErrorCode::mismatch:
            return Exit::mismatch;
        case ErrorCode::unsupported:
            return Exit::unsupported;
        case ErrorCode::out_of_memory:
            return Exit::memory;
        case ErrorCode::context_full:
            return Exit::context;
        case ErrorCode::cancelled:
            return Exit::interrupted;
        case ErrorCode::numeric:
            return Exit::numeric;
        case ErrorCode::internal:
            return Exit::internal;
    }
    return Exit::internal;
}

}  // namespace inkstone::app
