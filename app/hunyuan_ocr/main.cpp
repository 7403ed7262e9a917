// hunyuan-ocr: pictures in, their text out. Reads the command line, loads the model, has the pages read or the model
// checked, and turns what happened into an exit code (exit_status.h).
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

#include "common/command.h"
#include "common/exit_status.h"
#include "common/messages.h"
#include "common/output.h"
#include "common/signals.h"
#include "hunyuan_ocr/check_package.h"
#include "hunyuan_ocr/model_folder.h"
#include "hunyuan_ocr/options.h"
#include "hunyuan_ocr/pages.h"
#include "hunyuan_ocr/runtime.h"

namespace inkstone::app {
namespace {

std::optional<UsageError> check_task(const std::vector<std::string>& tasks, const std::string& task) {
    if (task.empty() || std::find(tasks.begin(), tasks.end(), task) != tasks.end()) return std::nullopt;
    std::string names;
    for (const std::string& name : tasks) names += (names.empty() ? "" : ", ") + name;
    return UsageError{"the model has no task " + task + "; it has: " + names};
}

std::optional<UsageError> check_output(const Options& options) {
    for (const std::string& picture : options.pictures) {
        std::error_code error;
        if (std::filesystem::is_regular_file(options.output, error) &&
            std::filesystem::equivalent(options.output, picture, error))
            return UsageError{"--output " + options.output + " is one of the pictures; it would be overwritten"};
    }
    std::error_code error;
    const std::filesystem::path output = std::filesystem::absolute(options.output, error);
    const auto extension = output.extension();
    if (!options.output.empty() && !options.model_dir.empty() &&
        (extension == ".json" || extension == ".safetensors" || extension == ".jinja") &&
        std::filesystem::is_regular_file(output, error) &&
        std::filesystem::equivalent(output.parent_path(), options.model_dir, error))
        return UsageError{"--output " + options.output + " is a file of the model; it would be overwritten"};
    return std::nullopt;
}

Exit fail(const UsageError& error) {
    say(one_line(error.message));
    return Exit::usage;
}

Exit read(const Options& options, Output& output, ProgressLine& progress) {
    const std::filesystem::path folder = model_folder(options);
    hunyuan_ocr::RuntimeOptions runtime_options = options.runtime;
    runtime_options.cancel = &cancel_token();
    runtime_options.on_progress = [&](const hunyuan_ocr::Progress& step) { progress.show("model", step); };
    if (!options.prompt.task.empty()) {
        if (auto error = check_task(hunyuan_ocr::tasks(folder), options.prompt.task)) return fail(*error);
    }
    hunyuan_ocr::Runtime runtime(folder, runtime_options);
    progress.clear();
    if (options.verbose) say(runtime.load_report());
    return read_pages(runtime, options, output, progress);
}

Exit list_tasks(const Options& options, Output& output) {
    std::string names;
    for (const std::string& name : hunyuan_ocr::tasks(model_folder(options))) names += name + "\n";
    output.write(names);
    return Exit::success;
}

// What an action that needs a model does.
Exit act(const Options& options, Output& output) {
    ProgressLine progress(options.quiet);
    switch (options.action) {
        case Action::check:
            return check_package(options, output, progress);
        case Action::list_tasks:
            return list_tasks(options, output);
        default:
            return read(options, output, progress);
    }
}

// Does what needs a model; the output file, when there is one, appears at its end.
Exit work(const Options& options) {
    if (auto error = check_output(options)) return fail(*error);
    Output output(cancel_token());
    if (!options.output.empty() && !output.open(options.output)) return *exit_of_stop(output);
    const Exit exit = act(options, output);
    if (const auto stopped = exit_of_stop(output)) return *stopped;
    // A single picture that failed leaves no file; of several the readable ones are kept, and so is a check's report.
    if (exit == Exit::success || exit == Exit::pages_failed || exit == Exit::check_failed) output.finish();
    return exit_of_stop(output).value_or(exit);
}

Exit run(int argument_count, const char* const* arguments) {
    const auto parsed = parse_command_line(argument_count, arguments);
    if (const auto* error = std::get_if<UsageError>(&parsed)) return fail(*error);
    const Options& options = std::get<Options>(parsed);
    Output output(cancel_token());
    switch (options.action) {
        case Action::help:
            return print(output, options.help);
        case Action::version:
            return print(output, "hunyuan-ocr " INKSTONE_VERSION "\n");
        case Action::read:
        case Action::list_tasks:
        case Action::check:
            return work(options);
    }
    return Exit::internal;
}

}  // namespace
}  // namespace inkstone::app

int main(int argument_count, char** arguments) {
    return inkstone::app::run_command([&] { return inkstone::app::run(argument_count, arguments); });
}
