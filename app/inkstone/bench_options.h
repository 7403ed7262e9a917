// The options of the subcommand bench, read and checked.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "runtime/bench.h"

namespace inkstone::app {

struct BenchCommand {
    std::string model;  // a folder or a name in the hub cache; empty: the small default model
    runtime::BenchOptions options;
    bool machine = false;  // the machine's limits alone, no model
    bool json = false, help = false;
};

// What is wrong with the arguments, in one sentence with its remedy.
struct BenchRefusal {
    std::string message;
};

// Also reads HUNYUAN_OCR_MODEL, when no model is named.
std::variant<BenchCommand, BenchRefusal> parse_bench(std::span<const std::string_view> arguments);

std::string bench_help();

}  // namespace inkstone::app
