// SIGHUP, SIGINT and SIGTERM as a cancel token, SIGPIPE ignored so that a closed pipe is an error of write(). Used by
// main.cpp; the token goes to the runtime and to all that waits for input or output.
#pragma once

#include "hunyuan_ocr/runtime.h"

namespace inkstone::app {

// Call once, before any thread is started. A second signal ends the program at once.
void install_signal_handlers();

// Set by the first signal.
hunyuan_ocr::CancelToken& cancel_token();

// The number of the signal once one has come, else 0.
int signal_received();

}  // namespace inkstone::app
