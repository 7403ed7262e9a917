// What this machine can do at most: bytes read from memory and arithmetic in registers, on the threads of a backend. A
// measurement takes its samples between the parts of the work that it holds against them, so that a change of clock or
// a neighbour on the machine meets both. Used by runtime/bench.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "backend/api/backend.h"
#include "backend/cpu/limits/peak_loops.h"
#include "backend/cpu/limits/read_patterns.h"
#include "base/result.h"

namespace inkstone::backend::cpu {

// Speeds seen, in GB/s or in 10^9 operations a second.
class Samples {
public:
    void add(double speed) { speeds_.push_back(speed); }
    void add(const Samples& others) { speeds_.insert(speeds_.end(), others.speeds_.begin(), others.speeds_.end()); }
    std::size_t count() const { return speeds_.size(); }
    double best() const;    // 0 without samples
    double median() const;  // 0 without samples
    double last() const { return speeds_.empty() ? 0 : speeds_.back(); }

private:
    std::vector<double> speeds_;
};

// Memory to be read: one part in pages of 2 MiB as far as the system gives them, one in pages of 4 KiB.
class ReadRegion {
public:
    // Of each part; several times any cache.
    static constexpr std::size_t kBytes = std::size_t{256} << 20;

    // Takes and touches 2 * kBytes. Errors: out_of_memory.
    static Result<std::unique_ptr<ReadRegion>> create();
    ~ReadRegion();
    ReadRegion(const ReadRegion&) = delete;
    ReadRegion& operator=(const ReadRegion&) = delete;

    const std::byte* memory(bool large_pages) const { return large_pages ? large_ : small_; }

private:
    ReadRegion() = default;
    std::byte* large_ = nullptr;
    std::byte* small_ = nullptr;
};

// One thread at a time; the backend must be idle and outlive this.
class MachineLimits {
public:
    MachineLimits(Backend& backend, const ReadRegion& region) : backend_(backend), region_(region) {}

    // Reads 2 * ReadRegion::kBytes in each of several patterns the first time, later in those that were best. The
    // fastest is one sample, in GB/s. False when cancelled.
    bool sample_reading(Samples& samples);
    // The pattern of the best sample.
    const ReadPattern& pattern() const { return pattern_; }

    // Runs the loop for about 20 ms on all threads: one sample, in 10^9 operations a second. False when cancelled.
    bool sample_arithmetic(const PeakLoop& loop, Samples& samples);

private:
    double read_speed(const ReadPattern& pattern);

    Backend& backend_;
    const ReadRegion& region_;
    ReadPattern pattern_;
    double best_ = 0;
    std::vector<ReadPattern> chosen_;  // empty until the first sample
    long steps_ = 0;                   // of an arithmetic loop in one chunk; 0 until the first sample
};

}  // namespace inkstone::backend::cpu
