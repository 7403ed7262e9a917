// Formats and numbers of threads in turn, each with an engine of its own; the memory that is read is shared by all.
#include "runtime/bench.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>

#include "base/thread_pool.h"
#include "module/operations.h"
#include "runtime/bench_measure.h"

namespace inkstone::runtime {
namespace {

using backend::cpu::Arithmetic;

// A format is a name, the arithmetic of its products, and what the engine is told.
struct Format {
    std::string_view name;
    Arithmetic arithmetic;
    void (*choose)(EngineOptions&);
};
constexpr Format kFormats[] = {
    {"f32", Arithmetic::f32, [](EngineOptions&) {}},  // what an engine does unless told otherwise
    {"bf16", Arithmetic::bf16,
     [](EngineOptions& options) {
         options.precision = {Precision::bf16, Precision::bf16, Precision::bf16, Precision::bf16};
     }},
    {"q8", Arithmetic::int8,
     [](EngineOptions& options) {
         options.precision = {Precision::bf16, Precision::q8, Precision::q8, Precision::bf16};
     }},
    {"q4", Arithmetic::int8,
     [](EngineOptions& options) {
         options.precision = {Precision::bf16, Precision::q4, Precision::q4, Precision::bf16};
     }},
};
constexpr Arithmetic kArithmetics[] = {Arithmetic::f32, Arithmetic::bf16, Arithmetic::int8};

constexpr Repeats kWhole{5, 50, 2}, kQuick{3, 20, 0.25};
constexpr int kMachineSamples = 3, kQuickMachineSamples = 1;  // before the work, and as many after it

std::string processor_name() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("model name")) continue;
        const std::size_t colon = line.find(": ");
        if (colon != std::string::npos) return line.substr(colon + 2);
    }
    return "unknown";
}

std::string text_of(const backend::cpu::ReadPattern& pattern) {
    return std::string(pattern.large_pages ? "2 MiB" : "4 KiB") + " pages, " + std::to_string(pattern.streams) +
           (pattern.streams == 1 ? " stream" : " streams") + (pattern.prefetch ? ", prefetch" : "");
}

// Samples of one number of threads, over all formats.
struct MachineSamples {
    backend::cpu::Samples reading;
    std::string pattern;
    std::map<Arithmetic, backend::cpu::Samples> arithmetic;
};

Error cancelled() { return {ErrorCode::cancelled, "measure", "", "the work was cancelled before it was done"}; }

Status sample_machine(backend::cpu::MachineLimits& limits, backend::cpu::InstructionSet set, int count,
                      MachineSamples& samples) {
    for (int i = 0; i < count; ++i) {
        if (!limits.sample_reading(samples.reading)) return cancelled();
        for (const Arithmetic arithmetic : kArithmetics) {
            const auto loop = backend::cpu::peak_loop(arithmetic, set);
            if (loop && !limits.sample_arithmetic(*loop, samples.arithmetic[arithmetic])) return cancelled();
        }
    }
    return {};
}

MachineSpeed speed_of(const backend::cpu::Samples& samples) {
    return {samples.best(), samples.median(), samples.count()};
}

class Bench {
public:
    Bench(const std::filesystem::path& folder, const BenchOptions& options) : folder_(folder), options_(options) {
        const auto fill = [](auto& list, auto value) {
            if (list.empty()) list.push_back(value);
        };
        fill(options_.threads, physical_cores());
        if (options_.contexts.empty() && !options_.quick) options_.contexts = {304, 2000};
        fill(options_.contexts, std::size_t{304});
        fill(options_.pictures, PictureSize{512, 512});
        if (options_.formats.empty())
            for (const Format& format : kFormats) options_.formats.emplace_back(format.name);
    }

    Result<BenchReport> run_machine() {
        INKSTONE_CHECK(begin());
        for (const int threads : options_.threads) {
            INKSTONE_TRY(const auto backend, backend::cpu::CpuBackend::create(set_, threads));
            backend->set_cancel(options_.cancel);
            backend::cpu::MachineLimits limits(*backend, *region_);
            say("machine", threads);
            INKSTONE_CHECK(sample_machine(limits, set_, machine_samples(), samples_[threads]));
            samples_[threads].pattern = text_of(limits.pattern());
        }
        return end();
    }

    Result<BenchReport> run() {
        INKSTONE_CHECK(begin());
        report_.model = folder_.string();
        for (const std::string& name : options_.formats) {
            const auto* format = std::find_if(std::begin(kFormats), std::end(kFormats),
                                              [&](const Format& known) { return known.name == name; });
            if (format == std::end(kFormats))
                return Error{ErrorCode::invalid_argument, "measure", "precision", name + " is not in this version"};
            INKSTONE_CHECK(measure_format(*format));
        }
        return end();
    }

private:
    Status begin() {
        INKSTONE_TRY(region_, backend::cpu::ReadRegion::create());
        report_.processor = processor_name();
        report_.instruction_set = backend::cpu::name_of(set_);
        report_.cores = physical_cores();
        return {};
    }

    Result<BenchReport> end() {
        for (const int threads : options_.threads) report_.machine.push_back(machine_of(threads));
        return std::move(report_);
    }

    int machine_samples() const { return options_.quick ? kQuickMachineSamples : kMachineSamples; }

    Status measure_format(const Format& format) {
        BenchFormat& result = report_.formats.emplace_back();
        result.name = format.name;
        // Without an instruction of its own a format is computed in FP32.
        const Arithmetic arithmetic =
            backend::cpu::peak_loop(format.arithmetic, set_) ? format.arithmetic : Arithmetic::f32;
        const auto peak = backend::cpu::peak_loop(arithmetic, set_);
        result.arithmetic = peak->instruction;
        for (const int threads : options_.threads) {
            EngineOptions engine_options;
            engine_options.instruction_set = set_;
            engine_options.threads = threads;
            engine_options.cancel = options_.cancel;
            format.choose(engine_options);
            say("load, " + result.name, threads);
            INKSTONE_TRY(auto engine, Engine::load(folder_, engine_options));
            INKSTONE_CHECK(check_contexts(*engine));
            engine->backend().set_cancel(options_.cancel);
            const inkstone::module::Module& text = engine->decoder().session().module();
            result.weights = engine->text_weights().formats();
            result.weight_bytes = engine->weight_bytes();
            result.token_weight_bytes = inkstone::module::matrix_bytes_read(text);
            result.position_bytes = text.graph().kv.page_bytes() / tensor::kBlockPositions;
            INKSTONE_CHECK(measure_engine(*engine, *peak, arithmetic, result.runs.emplace_back()));
        }
        return {};
    }

    Status measure_engine(Engine& engine, const backend::cpu::PeakLoop& peak, Arithmetic arithmetic, BenchRun& run) {
        run.threads = engine.backend().threads();
        MachineSamples& samples = samples_[run.threads];
        backend::cpu::MachineLimits limits(engine.backend(), *region_);
        BenchMeasure measure(engine, limits, peak, options_.quick ? kQuick : kWhole);
        say("machine", run.threads);
        INKSTONE_CHECK(sample_machine(limits, set_, machine_samples(), samples));
        say("products", run.threads);
        INKSTONE_TRY(run.products, measure.products());
        for (const std::size_t context : options_.contexts) {
            say("decode after " + std::to_string(context), run.threads);
            INKSTONE_TRY(auto work, measure.decode(context));
            run.decode.push_back(std::move(work));
        }
        for (const std::size_t context : options_.contexts) {
            if (context == 0) continue;  // no prompt
            say("prefill of " + std::to_string(context), run.threads);
            INKSTONE_TRY(auto work, measure.prefill(context));
            run.prefill.push_back(std::move(work));
        }
        for (const PictureSize& picture : options_.pictures) {
            say("vision of " + std::to_string(picture.width) + "x" + std::to_string(picture.height), run.threads);
            INKSTONE_TRY(auto work, measure.vision(picture));
            run.vision.push_back(std::move(work));
        }
        say("machine", run.threads);
        INKSTONE_CHECK(sample_machine(limits, set_, machine_samples(), samples));
        samples.reading.add(measure.reading());
        samples.arithmetic[arithmetic].add(measure.arithmetic());
        samples.pattern = text_of(limits.pattern());
        return {};
    }

    Status check_contexts(const Engine& engine) const {
        const std::size_t most = engine.package().config.text.max_position_embeddings;
        for (const std::size_t context : options_.contexts) {
            if (context >= most)
                return Error{ErrorCode::context_full, "measure", "context",
                             "is " + std::to_string(context) + " tokens, expected fewer than the model's " +
                                 std::to_string(most) + " positions; give a shorter one"};
        }
        return {};
    }

    MachineThreads machine_of(int threads) {
        const MachineSamples& samples = samples_[threads];
        MachineThreads machine{threads, speed_of(samples.reading), samples.pattern, {}};
        for (const auto& [arithmetic, speeds] : samples.arithmetic) {
            const auto loop = backend::cpu::peak_loop(arithmetic, set_);
            if (loop)
                machine.arithmetic.push_back(
                    {std::string(name_of(arithmetic)), std::string(loop->instruction), speed_of(speeds)});
        }
        return machine;
    }

    void say(const std::string& what, int threads) const {
        if (options_.on_progress)
            options_.on_progress(what + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads"));
    }

    std::filesystem::path folder_;
    BenchOptions options_;
    backend::cpu::InstructionSet set_ = backend::cpu::best_set();
    std::unique_ptr<backend::cpu::ReadRegion> region_;
    std::map<int, MachineSamples> samples_;
    BenchReport report_;
};

}  // namespace

std::vector<std::string_view> bench_formats() {
    std::vector<std::string_view> names;
    for (const Format& format : kFormats) names.push_back(format.name);
    return names;
}

Result<BenchReport> bench_machine(const BenchOptions& options) { return Bench({}, options).run_machine(); }

Result<BenchReport> bench(const std::filesystem::path& folder, const BenchOptions& options) {
    return Bench(folder, options).run();
}

}  // namespace inkstone::runtime
