// How long work goes on after it was cancelled, at every stage of a model: the design asks for 10 ms at most.
//     cmake --build --preset release --target cancel_benchmark && build/release/bin/cancel_benchmark MODEL [THREADS]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "base/thread_pool.h"
#include "runtime/engine.h"

namespace inkstone::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::duration;

constexpr int kRounds = 24;
constexpr double kLongestMs = 1500;  // of the time before a cancel

// Runs `work` to its end once, then cancels it at places spread evenly over that time, or over its first part. work:
// false when cancelled.
void measure(const char* stage, std::atomic<bool>& cancel, const std::function<bool()>& work) {
    const auto begin = Clock::now();
    work();
    const double whole_ms = duration<double, std::milli>(Clock::now() - begin).count();
    std::vector<double> late_ms;
    for (int round = 0; round < kRounds; ++round) {
        cancel = false;
        std::atomic<std::int64_t> asked{0};
        std::thread canceller([&] {
            std::this_thread::sleep_for(
                duration<double, std::milli>(std::min(whole_ms, kLongestMs) * (round + 0.5) / (kRounds + 1)));
            asked = Clock::now().time_since_epoch().count();
            cancel = true;
        });
        const bool finished = work();
        const std::int64_t ended = Clock::now().time_since_epoch().count();
        canceller.join();
        if (!finished) late_ms.push_back(duration<double, std::milli>(Clock::duration(ended - asked)).count());
    }
    cancel = false;
    if (late_ms.empty()) {
        std::printf("%-22s %9.1f ms: over before it could be cancelled\n", stage, whole_ms);
        return;
    }
    std::sort(late_ms.begin(), late_ms.end());
    std::printf("%-22s %9.1f ms: ends after %6.2f ms (median), %6.2f (worst of %zu)\n", stage, whole_ms,
                late_ms[late_ms.size() / 2], late_ms.back(), late_ms.size());
    std::fflush(stdout);
}

image::Patches patches_of(const image::Preprocessing& preprocessing, int side) {
    image::Patches patches;
    patches.grid_height = patches.grid_width = side / preprocessing.patch_size;
    patches.values.assign(static_cast<std::size_t>(patches.grid_height) * static_cast<std::size_t>(patches.grid_width) *
                              3 * static_cast<std::size_t>(preprocessing.patch_size * preprocessing.patch_size),
                          0.5F);
    return patches;
}

int run(const char* folder, int threads) {
    std::atomic<bool> cancel{false};
    EngineOptions options;
    options.threads = threads;
    options.cancel = &cancel;
    std::unique_ptr<Engine> engine;
    measure("load", cancel, [&] {
        engine.reset();
        auto loaded = Engine::load(folder, options);
        if (loaded) engine = std::move(*loaded);
        return loaded.ok();
    });
    auto loaded = Engine::load(folder, options);
    if (!loaded) {
        std::fprintf(stderr, "%s\n", loaded.error().text().c_str());
        return 1;
    }
    engine = std::move(*loaded);
    engine->backend().set_cancel(&cancel);
    std::vector<float> visual;
    for (const int side : {512, 1024}) {
        const image::Patches patches = patches_of(engine->package().preprocessing, side);
        measure(side == 512 ? "vision, 512 x 512" : "vision, 1024 x 1024", cancel,
                [&] { return engine->run_vision(patches, visual).ok(); });
    }
    generate::Decoder& decoder = engine->decoder();
    inkstone::module::KvPool pool(engine->backend(), decoder.session().module().graph().kv);
    generate::Sequence sequence(pool, engine->package().config.text.mrope_section.size());
    const auto append = [&](std::size_t tokens) {
        while (tokens-- > 0) sequence.append(static_cast<std::int32_t>(sequence.size() % 1000));
    };
    for (const std::size_t tokens : {304, 1500})
        measure(tokens == 304 ? "prefill, 304 tokens" : "prefill, 1500 tokens", cancel, [&] {
            sequence.crop(0);
            append(tokens);
            return decoder.prefill(sequence).ok();
        });
    for (const std::size_t rows : {1, 16})
        measure(rows == 1 ? "decode, 1 token" : "verify, 16 tokens", cancel, [&] {
            sequence.crop(1500);
            append(rows);
            const generate::StepRows step{&sequence, rows, rows};
            return decoder.step({&step, 1}).ok();
        });
    return 0;
}

}  // namespace
}  // namespace inkstone::runtime

int main(int argument_count, char** arguments) {
    if (argument_count < 2) {
        std::fprintf(stderr, "cancel_benchmark MODEL [THREADS]\n");
        return 2;
    }
    const int threads = argument_count > 2 ? std::atoi(arguments[2]) : inkstone::physical_cores();
    return inkstone::runtime::run(arguments[1], std::max(1, threads));
}
