// The frame of a command.
#include "common/command.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <new>
#include <string>

#include "common/messages.h"
#include "common/signals.h"
#include "hunyuan_ocr/runtime.h"

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

}  // namespace

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

int run_command(const std::function<Exit()>& body) {
    Exit exit = Exit::internal;
    try {
        keep_standard_streams_occupied();
        install_signal_handlers();
        exit = body();
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

}  // namespace inkstone::app
