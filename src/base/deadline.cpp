// A thread that sleeps until the time has come or nobody waits for it any more.
#include "base/deadline.h"

#include <algorithm>

namespace inkstone {
namespace {

// Longer times are never reached, and would not fit the clock.
constexpr std::chrono::duration<double> kLongest = std::chrono::hours(24 * 365 * 10);

}  // namespace

Deadline::Deadline(std::chrono::duration<double> from_now) {
    const auto wait = std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::min(from_now, kLongest));
    const auto when = std::chrono::steady_clock::now() + wait;
    thread_ = std::thread([this, when] {
        std::unique_lock lock(mutex_);
        if (!changed_.wait_until(lock, when, [this] { return ended_; })) passed_ = true;
    });
}

Deadline::~Deadline() {
    {
        const std::lock_guard lock(mutex_);
        ended_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

}  // namespace inkstone
