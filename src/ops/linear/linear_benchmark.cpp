// Speed of the products' kernels, f32, BF16 and integer arithmetic, beside what this machine can do: a loop of
// independent multiply-adds in registers, and loops that only read. All are interleaved in one run, so that a change of
// clock or a neighbour on the machine meets all of them; the best of many short slices counts, and the best of several
// patterns of reading. cmake --build --preset release --target linear_benchmark
//   linear_benchmark [f32 | bf16 | int8] [portable | avx2 | avx512 | avx512_vnni | avx512_bf16] [1 | 2] [rows=N]
//   [OUTPUTSxINPUTS]
// each argument narrows what is measured.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "backend/cpu/limits/peak_loops.h"
#include "backend/cpu/limits/read_patterns.h"
#include "ops/linear/linear.h"
#include "ops/linear_bf16/linear_bf16.h"
#include "ops/linear_int8/linear_int8.h"
#include "ops/quantise_rows/quantise_rows.h"
#include "testing/buffers.h"
#include "testing/instruction_sets.h"
#include "testing/packed_weights.h"
#include "testing/peak_loop.h"

namespace inkstone {
namespace {

namespace cpu = backend::cpu;
using testing::InstructionSet;
using testing::ProductShape;

constexpr double kSecondsPerCase = 0.25;
constexpr std::size_t kRowsPerItem = 192, kTilesPerItem = 4, kFewRows = 16;  // as the CPU backend shares products out

// The thread's own time, so that waiting for a processor does not count.
double now() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// One or two threads that run a function at the same time.
class Team {
public:
    explicit Team(std::size_t threads) : threads_(threads) {
        if (threads_ == 2) helper_ = std::thread([this] { help(); });
    }
    ~Team() {
        if (threads_ == 1) return;
        work_ = nullptr;
        ++begun_;
        helper_.join();
    }
    std::size_t threads() const { return threads_; }

    // Calls function(thread) in every thread; the longest of their times.
    template <class Function>
    double seconds(Function function) {
        work_ = [](void* context, std::size_t thread) { (*static_cast<Function*>(context))(thread); };
        context_ = &function;
        if (threads_ == 2) {
            ready_ = 0;
            ++begun_;
            while (ready_ == 0) {
            }
            ready_ = 2;
        }
        const double begin = now();
        function(0);
        const double own = now() - begin;
        if (threads_ == 1) return own;
        while (finished_ != begun_) {
        }
        return std::max(own, helper_seconds_);
    }

private:
    void help() {
        for (int round = 1;; ++round) {
            while (begun_ != round) {
            }
            if (work_ == nullptr) return;
            ready_ = 1;
            while (ready_ != 2) {
            }
            const double begin = now();
            work_(context_, 1);
            helper_seconds_ = now() - begin;
            finished_ = round;
        }
    }

    std::size_t threads_;
    void (*work_)(void*, std::size_t) = nullptr;
    void* context_ = nullptr;
    std::atomic<int> begun_ = 0, ready_ = 0, finished_ = 0;
    double helper_seconds_ = 0;
    std::thread helper_;
};

// 10^9 operations a second of the loop in registers that kernels of this set are held against.
double peak(const cpu::PeakLoop& loop, Team& team) {
    constexpr long kSteps = 12'000;
    const double time = team.seconds([&](std::size_t) { loop.run(kSteps); });
    return loop.operations_per_step * kSteps * static_cast<double>(team.threads()) / time / 1e9;
}

constexpr cpu::ReadPattern kPatterns[] = {
    {.streams = 1}, {.streams = 1, .prefetch = true}, {.streams = 2}, {.streams = 2, .prefetch = true},
    {.streams = 4}, {.streams = 4, .prefetch = true}, {.streams = 8}};

// GB/s of only reading.
double read_rate(const cpu::ReadPattern& pattern, const std::byte* memory, std::size_t bytes, Team& team) {
    const std::size_t share = bytes / team.threads() / 4096 * 4096;
    std::atomic<std::uint64_t> any = 0;  // what was read is used, or the compiler would leave it out
    const double time = team.seconds([&](std::size_t thread) {
        any ^= cpu::read_once(memory + thread * share, share, pattern.streams, pattern.prefetch);
    });
    return static_cast<double>(share * team.threads()) / time / 1e9;
}

struct Unmap {
    std::size_t bytes;
    void operator()(void* memory) const { munmap(memory, bytes); }
};
// `count` zeros in 2 MiB pages where the system gives them, as the backend's memory.
template <class T>
std::unique_ptr<T[], Unmap> large_pages(std::size_t count) {
    std::size_t bytes = count * sizeof(T);
    constexpr std::size_t kPage = std::size_t{2} << 20;
    bytes = (bytes + kPage - 1) / kPage * kPage;
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        std::fprintf(stderr, "no memory for %zu bytes\n", bytes);
        std::exit(1);
    }
    madvise(memory, bytes, MADV_HUGEPAGE);
    return {static_cast<T*>(memory), Unmap{bytes}};
}

// What to measure, from the command line.
struct Filter {
    std::optional<std::string> arithmetic, set;
    std::optional<std::size_t> threads, rows;
    std::optional<ProductShape> shape;
};

struct Case {
    const char* name;  // arithmetic and storage
    tensor::WeightFormat format;
    ProductShape shape;
    std::size_t rows;
    tensor::Quantisation quantisation = {};
};

// Weights in as many copies as do not fit into any cache: decoding finds every weight in memory.
class Copies {
public:
    explicit Copies(tensor::PackedMatrix matrix)
        : matrix_(matrix),
          count_(1 + kBytes / matrix.bytes()),
          memory_(large_pages<std::byte>(count_ * matrix.bytes() + kAfter)) {
        // The upper half of a small float, twice, is a sensible weight or two in all formats.
        const std::vector<float> pattern = testing::random_floats(1 << 16, 1, 0.02f);
        for (std::size_t i = 0; i < count_ * matrix.bytes(); i += 4) {
            std::uint32_t bits;
            std::memcpy(&bits, &pattern[i / 4 % pattern.size()], 4);
            bits = (bits & 0xffff0000u) | bits >> 16;
            std::memcpy(memory_.get() + i, &bits, 4);
        }
    }
    // The kernel and the readers work at places far from each other.
    tensor::PackedMatrix matrix(std::size_t slice) {
        matrix_.data = memory_.get() + (slice + count_ / 2) % count_ * matrix_.bytes();
        return matrix_;
    }
    const std::byte* for_reading(std::size_t slice) const { return memory_.get() + slice % count_ * matrix_.bytes(); }

private:
    static constexpr std::size_t kBytes = std::size_t{192} << 20, kAfter = 8192;
    tensor::PackedMatrix matrix_;
    std::size_t count_;
    std::unique_ptr<std::byte[], Unmap> memory_;
};

// Shares the product out as the backend does and times it.
template <class Kernel, class Arguments>
double time_product(Kernel kernel, const Arguments& arguments, Team& team) {
    const std::size_t rows = arguments.rows, tiles = arguments.weight.tiles();
    const std::size_t row_chunk = rows <= kFewRows ? rows : kRowsPerItem;
    const std::size_t tile_chunk =
        rows <= kFewRows ? std::max<std::size_t>(1, tiles / (team.threads() * 8)) : kTilesPerItem;
    const std::size_t tile_chunks = (tiles + tile_chunk - 1) / tile_chunk;
    const std::size_t items = (rows + row_chunk - 1) / row_chunk * tile_chunks;
    std::atomic<std::size_t> next = 0;
    return team.seconds([&](std::size_t) {
        for (std::size_t item = next++; item < items; item = next++) {
            const std::size_t row = item / tile_chunks * row_chunk, tile = item % tile_chunks * tile_chunk;
            kernel(arguments, row, std::min(rows, row + row_chunk), tile, std::min(tiles, tile + tile_chunk));
        }
    });
}

// The value that one in twenty exceeds, of values times `sign`: the very best of many is often an error of the clock of
// a virtual machine.
double quantile(std::vector<double>& values, double sign) {
    if (values.empty()) return 0;
    for (double& value : values) value *= sign;
    std::sort(values.begin(), values.end());
    return values[(values.size() - 1) * 19 / 20];
}

// `run` makes the arguments of the kernel for a matrix and times it.
template <class Run>
void measure(const Case& what, InstructionSet set, const cpu::PeakLoop& loop, Team& team, Run run) {
    const auto [outputs, inputs] = what.shape;
    Copies copies({what.format, outputs, inputs, nullptr, what.quantisation});
    const double bytes = static_cast<double>(copies.matrix(0).bytes());
    const double operations = 2.0 * static_cast<double>(what.rows * outputs * inputs);
    std::vector<double> times, arithmetic_rates;
    std::array<std::vector<double>, std::size(kPatterns)> reading_rates;
    const double begin = now();
    for (std::size_t slice = 0; slice < 5 || now() - begin < kSecondsPerCase; ++slice) {
        for (const std::size_t reader : {slice % std::size(kPatterns), (slice + 3) % std::size(kPatterns)})
            reading_rates[reader].push_back(
                read_rate(kPatterns[reader], copies.for_reading(slice + reader), copies.matrix(0).bytes(), team));
        arithmetic_rates.push_back(peak(loop, team));
        times.push_back(run(copies.matrix(slice), team));
    }
    const double best = -quantile(times, -1), arithmetic = quantile(arithmetic_rates, 1);
    double reading = 0;
    for (std::vector<double>& rates : reading_rates) reading = std::max(reading, quantile(rates, 1));
    const double least = std::max(operations / arithmetic, bytes / reading) / 1e9;
    std::printf(
        "%s, %-11s %zu threads, %6zu x %4zu, %4zu rows: %6.1f GFLOP/s, %3.0f %% of %.0f; %5.1f GB/s, %3.0f %% "
        "of %.1f; %3.0f %% of the nearer limit\n",
        what.name, name_of(set).c_str(), team.threads(), outputs, inputs, what.rows, operations / best / 1e9,
        100 * operations / best / 1e9 / arithmetic, arithmetic, bytes / best / 1e9, 100 * bytes / best / 1e9 / reading,
        reading, 100 * least / best);
    std::fflush(stdout);
}

void measure_f32(const Case& what, const testing::KernelForm<ops::linear::Kernel>& form, Team& team) {
    const auto [outputs, inputs] = what.shape;
    const auto x = large_pages<float>(what.rows * inputs), y = large_pages<float>(what.rows * outputs);
    const std::vector<float> floats = testing::random_floats(what.rows * inputs, 2);
    std::copy(floats.begin(), floats.end(), x.get());
    measure(what, form.set, testing::peak_loop(form.set), team,
            [&, outputs = outputs, inputs = inputs](const auto& matrix, Team& threads) {
                return time_product(
                    form.run, ops::linear::Arguments{x.get(), y.get(), matrix, nullptr, what.rows, inputs, outputs},
                    threads);
            });
}

void measure_bf16(const Case& what, const testing::KernelForm<ops::linear_bf16::Kernel>& form, Team& team) {
    const auto [outputs, inputs] = what.shape;
    const std::vector<float> floats = testing::random_floats(what.rows * inputs, 2);
    const auto x = large_pages<std::uint16_t>(floats.size());
    const auto y = large_pages<float>(what.rows * outputs);
    for (std::size_t i = 0; i < floats.size(); ++i) {
        std::uint32_t bits;
        std::memcpy(&bits, &floats[i], sizeof bits);
        x[i] = static_cast<std::uint16_t>(bits >> 16);
    }
    measure(what, form.set, testing::peak_loop(form.set), team,
            [&, outputs = outputs, inputs = inputs](const auto& matrix, Team& threads) {
                return time_product(
                    form.run,
                    ops::linear_bf16::Arguments{x.get(), y.get(), matrix, nullptr, what.rows, inputs, outputs},
                    threads);
            });
}

void measure_int8(const Case& what, const testing::KernelForm<ops::linear_int8::Kernel>& form, Team& team) {
    const auto [outputs, inputs] = what.shape;
    const std::vector<float> floats = testing::random_floats(what.rows * inputs, 2);
    const tensor::QuantisedRow row{inputs, what.quantisation.group};
    const auto x = large_pages<std::byte>(what.rows * row.bytes());
    const auto y = large_pages<float>(what.rows * outputs);
    ops::quantise_rows::reference({floats.data(), x.get(), row, what.rows, inputs, row.bytes()});
    measure(what, form.set, testing::peak_loop(form.set), team,
            [&, outputs = outputs](const auto& matrix, Team& threads) {
                return time_product(
                    form.run,
                    ops::linear_int8::Arguments{x.get(), y.get(), matrix, nullptr, what.rows, row.bytes(), outputs},
                    threads);
            });
}

// All cases of one arithmetic that the filter lets through.
template <class Form, class Measure>
void measure_all(const char* arithmetic, const std::vector<Form>& forms, const Filter& filter, Measure measure_case) {
    if (filter.arithmetic.value_or(arithmetic) != arithmetic) return;
    for (const std::size_t threads : {1, 2}) {
        if (filter.threads.value_or(threads) != threads) continue;
        Team team(threads);
        for (const Form& form : forms) {
            if (filter.set.value_or(name_of(form.set)) != name_of(form.set)) continue;
            const auto consider = [&](ProductShape shape, std::initializer_list<std::size_t> row_counts) {
                if (filter.shape && (filter.shape->outputs != shape.outputs || filter.shape->inputs != shape.inputs))
                    return;
                for (const std::size_t rows : row_counts)
                    if (filter.rows.value_or(rows) == rows)
                        measure_case({"", tensor::WeightFormat::bf16, shape, rows}, form, team);
            };
            for (const ProductShape& shape : testing::kVisionShapes) consider(shape, {256, 1024, 4096});
            for (const ProductShape& shape : testing::kDecoderShapes)
                consider(shape, {1, 2, 4, 6, 7, 8, 10, 12, 16, 24, 32, 64, 304});
            consider(testing::kHeadShape, {1, 4, 8, 16});
        }
    }
}

}  // namespace
}  // namespace inkstone

int main(int argument_count, char** arguments) {
    using namespace inkstone;
    Filter filter;
    for (int i = 1; i < argument_count; ++i) {
        const std::string argument = arguments[i];
        ProductShape shape{};
        std::size_t rows = 0;
        if (argument == "f32" || argument == "bf16" || argument == "int8")
            filter.arithmetic = argument;
        else if (argument == "1" || argument == "2")
            filter.threads = argument == "1" ? 1 : 2;
        else if (std::sscanf(argument.c_str(), "rows=%zu", &rows) == 1)
            filter.rows = rows;
        else if (std::sscanf(argument.c_str(), "%zux%zu", &shape.outputs, &shape.inputs) == 2)
            filter.shape = shape;
        else
            filter.set = argument;
    }
    // f32 arithmetic in every weight format, at one shape; then the model's shapes, whose weights are bf16.
    const auto f32_forms = INKSTONE_AVAILABLE_FORMS(ops::linear);
    measure_all("f32", f32_forms, filter, [](Case what, const auto& form, Team& team) {
        const bool all_formats = what.shape.outputs == 1024 && what.shape.inputs == 1024;
        for (const auto& [format, name] :
             {std::pair{tensor::WeightFormat::bf16, "f32 x bf16"}, std::pair{tensor::WeightFormat::f32, "f32 x f32 "},
              std::pair{tensor::WeightFormat::f16, "f32 x f16 "}}) {
            if (format != tensor::WeightFormat::bf16 && !all_formats) continue;
            what.format = format;
            what.name = name;
            measure_f32(what, form, team);
        }
    });
    measure_all("bf16", INKSTONE_AVAILABLE_BF16_FORMS(ops::linear_bf16), filter,
                [](Case what, const auto& form, Team& team) {
                    what.name = "bf16 x bf16";
                    measure_bf16(what, form, team);
                });
    measure_all("int8", INKSTONE_AVAILABLE_INT8_FORMS(ops::linear_int8), filter,
                [](Case what, const auto& form, Team& team) {
                    using tensor::ScaleType, tensor::WeightFormat;
                    constexpr std::pair<tensor::QuantisedFormat, const char*> kFormats[] = {
                        {{WeightFormat::q8, {0, ScaleType::f32}}, "q8 per channel  "},
                        {{WeightFormat::q8, {64, ScaleType::f16}}, "q8, groups of 64"},
                        {{WeightFormat::q8, {32, ScaleType::f16}}, "q8, groups of 32"},
                        {{WeightFormat::q4, {32, ScaleType::f16}}, "q4, groups of 32"}};
                    for (const auto& [format, name] : kFormats) {
                        what.format = format.format;
                        what.quantisation = format.quantisation;
                        what.name = name;
                        measure_int8(what, form, team);
                    }
                });
}
