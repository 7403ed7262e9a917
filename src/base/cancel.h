// A caller's wish to stop, and the error that the work then ends with. Long loops look at the token between pieces of
// work that take at most some milliseconds.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "base/result.h"

namespace inkstone {

// Set by any thread or a signal handler; read by whoever works. Null: never cancelled.
using CancelToken = std::atomic<bool>;

inline bool cancelled(const CancelToken* token) { return token != nullptr && token->load(std::memory_order_relaxed); }

inline Error cancelled_error(std::string_view stage, std::string_view subject) {
    return {ErrorCode::cancelled, std::string(stage), std::string(subject), "was cancelled before it was done"};
}

}  // namespace inkstone
