// hunyuan-ocr: pictures in, their text out. Reads the command line, loads the model, has the pages read or the model
// checked, and turns what happened into an exit code (exit_status.h).
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

#include "hunyuan_ocr/check_package.h"
#include "hunyuan_ocr/exit_status.h"
#include "hunyuan_ocr/model_folder.h"
#include "hunyuan_ocr/options.h"
#include "hunyuan_ocr/output.h"
#include "hunyuan_ocr/pages.h"
#include "hunyuan_ocr/report.h"
#include "hunyuan_ocr/runtime.h"
#include "hunyuan_ocr/signals.h"

namespace inkstone::app {
namespace {

// A closed standard stream would let the next file that is opened take its number, and the answer its place.
void keep_standard_streams_occupied() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(descriptor, F_GETFD) < 0) open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

Exit exit_of_signal(int signal) {
    if (signal == SIGHUP) return Exit::hung_up;
    return signal == SIGTERM ? Exit::terminated : Exit::interrupted;
}

// The exit code after a signal or a failed write, if there was one.
std::optional<Exit> exit_of_stop(const Output& output) {
    if (const int signal = signal_received()) return exit_of_signal(signal);
    if (!output.failed()) return std::nullopt;
    if (output.closed_pipe()) return Exit::closed_pipe;
    say(one_line("write answer: " + output.failure()));
    return Exit::output;
}

Exit print(Output& output, std::string_view text) {
    if (output.write(text)) output.finish();
    return exit_of_stop(output).value_or(Exit::success);
}

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
    using namespace inkstone::app;
    Exit exit = Exit::internal;
    try {
        keep_standard_streams_occupied();
        install_signal_handlers();
        exit = run(argument_count, arguments);
    } catch (const hunyuan_ocr::Error& error) {
        exit = exit_of(error.code());
        if (error.code() != hunyuan_ocr::ErrorCode::cancelled) say(one_line(error.what()));
        if (const int signal = signal_received()) exit = exit_of_signal(signal);
    } catch (const std::bad_alloc&) {
        say("not enough memory");
        exit = Exit::memory;
    } catch (const std::exception& error) {
        say(std::string("internal error: ") + error.what());
    }
    return static_cast<int>(exit);
}
