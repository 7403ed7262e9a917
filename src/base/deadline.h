// A flag that is set when a time has passed. Work that already looks at a flag, to be cancelled, needs no clock.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace inkstone {

class Deadline {
public:
    // Starts a thread that sleeps until then. Throws std::system_error when the system has no thread to give.
    explicit Deadline(std::chrono::duration<double> from_now);
    ~Deadline();
    Deadline(const Deadline&) = delete;
    Deadline& operator=(const Deadline&) = delete;

    // May be read from any thread, as long as the object lives.
    const std::atomic<bool>& passed() const { return passed_; }

private:
    std::atomic<bool> passed_{false};
    std::mutex mutex_;
    std::condition_variable changed_;
    bool ended_ = false;
    std::thread thread_;
};

}  // namespace inkstone
