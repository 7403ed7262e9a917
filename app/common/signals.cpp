// Signal handlers: they only set two lock-free flags.
#include "common/signals.h"

#include <csignal>

namespace inkstone::app {
namespace {

hunyuan_ocr::CancelToken cancel{false};
std::atomic<int> received{0};
static_assert(hunyuan_ocr::CancelToken::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void on_signal(int signal) {
    received = signal;
    cancel = true;
}

}  // namespace

void install_signal_handlers() {
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND);  // without SA_RESTART: a waiting read or write returns
    sigemptyset(&action.sa_mask);
    for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
        struct sigaction before {};
        // A signal that the parent ignores (nohup, a job in the background) stays ignored.
        if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(signal, &action, nullptr);
    }
    // A write then fails with a reason, and --output leaves nothing behind.
    for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
}

hunyuan_ocr::CancelToken& cancel_token() { return cancel; }

int signal_received() { return received; }

}  // namespace inkstone::app
