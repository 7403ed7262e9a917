// Work is handed out in chunks that threads take dynamically, as an operator's is: a thread that a neighbour stops for
// a while does not hold up the others.
#include "backend/cpu/limits/machine_limits.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

namespace inkstone::backend::cpu {
namespace {

constexpr std::size_t kChunk = std::size_t{4} << 20;      // bytes
constexpr std::size_t kLargePage = std::size_t{2} << 20;  // bytes
constexpr std::size_t kPatternsKept = 3;
constexpr int kRounds = 2;  // over the region, in one reading
constexpr std::size_t kChunksPerThread = 8;
constexpr double kChunkSeconds = 0.0025;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

template <class Work>
bool parallel(Backend& backend, std::size_t count, const Work& work) {
    return backend.parallel(
        count, [](void* context, std::size_t item) { (*static_cast<const Work*>(context))(item); },
        const_cast<Work*>(&work));
}

// Anonymous memory of kBytes and the room to begin at a large page, touched.
std::byte* map(bool large_pages) {
    void* memory =
        mmap(nullptr, ReadRegion::kBytes + kLargePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    madvise(memory, ReadRegion::kBytes + kLargePage, large_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    std::memset(memory, 1, ReadRegion::kBytes + kLargePage);  // untouched pages would all be one page of zeros
    return static_cast<std::byte*>(memory);
}

}  // namespace

double Samples::best() const { return speeds_.empty() ? 0 : *std::max_element(speeds_.begin(), speeds_.end()); }

double Samples::median() const {
    if (speeds_.empty()) return 0;
    std::vector<double> sorted = speeds_;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t middle = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

Result<std::unique_ptr<ReadRegion>> ReadRegion::create() {
    std::unique_ptr<ReadRegion> region(new ReadRegion);
    region->large_ = map(true);
    region->small_ = map(false);
    if (region->large_ != nullptr && region->small_ != nullptr) return region;
    return Error{ErrorCode::out_of_memory, "measure machine", "memory to be read",
                 "2 parts of " + std::to_string(kBytes >> 20) + " MiB cannot be had; free some memory"};
}

ReadRegion::~ReadRegion() {
    for (std::byte* part : {large_, small_}) {
        if (part != nullptr) munmap(part, kBytes + kLargePage);
    }
}

// In GB/s; 0 when cancelled.
double MachineLimits::read_speed(const ReadPattern& pattern) {
    const std::byte* memory = region_.memory(pattern.large_pages);
    std::atomic<std::uint64_t> sink{0};
    constexpr std::size_t kChunks = ReadRegion::kBytes / kChunk;
    const double start = now();
    const bool done = parallel(backend_, kRounds * kChunks, [&](std::size_t item) {
        sink.fetch_xor(read_once(memory + item % kChunks * kChunk, kChunk, pattern.streams, pattern.prefetch),
                       std::memory_order_relaxed);
    });
    return done ? static_cast<double>(kRounds * ReadRegion::kBytes) / (now() - start) / 1e9 : 0;
}

bool MachineLimits::sample_reading(Samples& samples) {
    std::vector<ReadPattern> tried = chosen_;
    if (tried.empty()) {
        for (const bool large_pages : {true, false})
            for (const int streams : {1, 2, 4, kMostStreams})
                for (const bool prefetch : {false, true}) tried.push_back({large_pages, streams, prefetch});
    }
    std::vector<std::pair<double, ReadPattern>> speeds;
    for (const ReadPattern& pattern : tried) {
        const double speed = read_speed(pattern);
        if (speed == 0) return false;
        speeds.emplace_back(speed, pattern);
    }
    std::stable_sort(speeds.begin(), speeds.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    if (chosen_.empty()) {
        for (std::size_t i = 0; i < std::min(kPatternsKept, speeds.size()); ++i) chosen_.push_back(speeds[i].second);
    }
    samples.add(speeds.front().first);
    if (speeds.front().first > best_) {
        best_ = speeds.front().first;
        pattern_ = speeds.front().second;
    }
    return true;
}

bool MachineLimits::sample_arithmetic(const PeakLoop& loop, Samples& samples) {
    // The length of a chunk in steps is found once for all loops: it only has to be far above the cost of handing out.
    for (steps_ = std::max(steps_, 1000L);;) {
        const double start = now();
        loop.run(steps_);
        if (now() - start >= kChunkSeconds / 2) break;
        steps_ *= 2;
    }
    const std::size_t chunks = kChunksPerThread * static_cast<std::size_t>(backend_.threads());
    const double start = now();
    if (!parallel(backend_, chunks, [&](std::size_t) { loop.run(steps_); })) return false;
    const double seconds = now() - start;
    samples.add(loop.operations_per_step * static_cast<double>(steps_) * static_cast<double>(chunks) / seconds / 1e9);
    return true;
}

}  // namespace inkstone::backend::cpu
