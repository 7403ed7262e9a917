// Plain reading of memory, in several patterns: which one a machine does best is found by trying. Used by
// machine_limits.cpp and by the operators' benchmarks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace inkstone::backend::cpu {

struct ReadPattern {
    bool large_pages = false;  // of 2 MiB, as far as the system gives them
    int streams = 1;           // places that are read at once, 1 to kMostStreams
    bool prefetch = false;     // some lines ahead of each stream
};

constexpr int kMostStreams = 8;

// Reads all of `bytes` once, cut into `streams` equal parts that are read side by side; bytes is a multiple of
// streams * 256. The result depends on every byte, so that nothing is left out. Any thread.
std::uint64_t read_once(const std::byte* memory, std::size_t bytes, int streams, bool prefetch);

}  // namespace inkstone::backend::cpu
