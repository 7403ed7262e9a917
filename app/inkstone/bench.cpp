// Reads the options, has the runtime measure, prints.
#include "inkstone/bench.h"

#include <variant>

#include "common/command.h"
#include "common/default_model.h"
#include "common/messages.h"
#include "common/signals.h"
#include "inkstone/bench_options.h"
#include "inkstone/bench_report.h"
#include "runtime/options.h"

namespace inkstone::app {
namespace {

runtime::BenchReport measure(const BenchCommand& command) {
    if (command.machine) return runtime::value_or_throw(runtime::bench_machine(command.options));
    const std::filesystem::path folder =
        command.model.empty() ? default_model() : runtime::resolve_model(command.model);
    return runtime::value_or_throw(runtime::bench(folder, command.options));
}

}  // namespace

Exit run_bench(std::span<const std::string_view> arguments, Output& output) {
    auto parsed = parse_bench(arguments);
    if (const auto* refusal = std::get_if<BenchRefusal>(&parsed)) {
        say(refusal->message);
        return Exit::usage;
    }
    BenchCommand& command = std::get<BenchCommand>(parsed);
    if (command.help) return print(output, bench_help());
    ProgressLine progress(false);
    command.options.cancel = &cancel_token();
    command.options.on_progress = [&](std::string_view stage) { progress.show("bench", {stage}); };
    const runtime::BenchReport report = measure(command);
    progress.clear();
    return print(output, command.json ? bench_json(report) : bench_text(report));
}

}  // namespace inkstone::app
