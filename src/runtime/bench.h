// Measures a model on this machine: vision, prefill and decode, each beside what the machine itself can do, in one run.
// What `inkstone bench` prints; nothing of tensors is in here, so that a command can include it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace inkstone::runtime {

// Names of the formats that this version computes in, in the order of bench's report.
std::vector<std::string_view> bench_formats();

struct PictureSize {
    std::int64_t width = 0, height = 0;  // pixels
};

// Empty lists: the defaults, which depend on `quick`.
struct BenchOptions {
    std::vector<int> threads;           // numbers of threads, each measured apart; default: physical cores
    std::vector<std::size_t> contexts;  // tokens of a prompt and before a decoded token; default: 304 and 2000
    std::vector<PictureSize> pictures;  // default: 512 x 512
    std::vector<std::string> formats;   // of bench_formats(); default: all
    bool quick = false;                 // fewer repeats, shorter, one context
    const std::atomic<bool>* cancel = nullptr;
    std::function<void(std::string_view stage)> on_progress;  // what is measured next
};

// A speed of the machine: GB/s of reading, or 10^9 operations a second.
struct MachineSpeed {
    double best = 0, median = 0;
    std::size_t samples = 0;
};

struct StageTime {
    std::string name;
    double ms = 0;  // of one run
};

// Repeats of one piece of work. A multiplication and an addition are two operations.
struct BenchWork {
    std::string what;       // "512x512", or empty
    std::size_t count = 0;  // patches, tokens of the prompt, tokens before the decoded one, rows
    std::size_t repeats = 0;
    double median_ms = 0, best_ms = 0;
    double operations = 0;  // of one run
    double bytes = 0;       // read by one run at least: weights, keys and values; 0 where arithmetic is the limit
    MachineSpeed limit;     // sampled between the repeats: of reading where bytes > 0, else of arithmetic
    double limit_before = 0, limit_after = 0;  // the first and the last sample
    std::vector<StageTime> stages;             // medians; parts of the flow and what is outside of all of them

    double per_second() const { return median_ms > 0 ? 1000 / median_ms : 0; }           // runs
    double speed() const { return (bytes > 0 ? bytes : operations) / median_ms / 1e6; }  // in units of limit
    double share() const { return limit.median > 0 ? speed() / limit.median : 0; }       // of the limit
};

// What one format reaches with one number of threads.
struct BenchRun {
    int threads = 0;
    BenchWork products;  // of the model's matrices, many rows; count: rows
    std::vector<BenchWork> vision, prefill, decode;
};

struct BenchFormat {
    std::string name;                      // "f32"
    std::string arithmetic;                // the instruction that its products are held against
    std::string weights;                   // storage, "bf16+f32"
    std::uint64_t weight_bytes = 0;        // of both towers
    std::uint64_t token_weight_bytes = 0;  // read for each decoded token
    std::uint64_t position_bytes = 0;      // keys and values of one position
    std::vector<BenchRun> runs;            // by threads, as asked for
};

struct ArithmeticSpeed {
    std::string name, instruction;  // "f32", "vfmadd231ps zmm"
    MachineSpeed speed;
};

// The machine with one number of threads, over the whole run.
struct MachineThreads {
    int threads = 0;
    MachineSpeed reading;
    std::string pattern;  // of the fastest reading: "2 MiB pages, 4 streams"
    std::vector<ArithmeticSpeed> arithmetic;
};

struct BenchReport {
    std::string model, processor, instruction_set;
    int cores = 0;  // physical, that this process may use
    std::vector<MachineThreads> machine;
    std::vector<BenchFormat> formats;
};

// The machine's limits alone, with no model: model and formats are empty. Of the options threads, quick, cancel and
// on_progress count. Errors: invalid_argument (threads), out_of_memory, cancelled.
Result<BenchReport> bench_machine(const BenchOptions& options);

// Loads the model once for each format and number of threads, and measures. Uses some 512 MiB beside the model. Errors:
// those of Engine::load; invalid_argument (an unknown format, no threads); context_full (a context that the model has
// not); out_of_memory; cancelled.
Result<BenchReport> bench(const std::filesystem::path& folder, const BenchOptions& options);

}  // namespace inkstone::runtime
