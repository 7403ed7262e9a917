// The measurements of one loaded engine, for bench.cpp: pieces of work repeated, samples of the machine in between.
#pragma once

#include <cstddef>
#include <vector>

#include "backend/cpu/limits/machine_limits.h"
#include "runtime/bench.h"
#include "runtime/engine.h"

namespace inkstone::runtime {

// How often a piece of work is repeated: at least `least` times, and on until `seconds` have passed, at most `most`.
struct Repeats {
    std::size_t least = 5, most = 50;
    double seconds = 2;
};

class BenchMeasure {
public:
    // Borrows all three. peak: what products are held against.
    BenchMeasure(Engine& engine, backend::cpu::MachineLimits& limits, const backend::cpu::PeakLoop& peak,
                 const Repeats& repeats)
        : engine_(engine), limits_(limits), peak_(peak), repeats_(repeats) {}

    // Each shape of the model's matrices with many rows, as often as the model has it. count: rows.
    Result<BenchWork> products();
    // One picture through the vision tower. Errors: those of smart_resize and of Engine::run_vision.
    Result<BenchWork> vision(const PictureSize& picture);
    // A prompt of `tokens` through the decoder, and the logits of its last.
    Result<BenchWork> prefill(std::size_t tokens);
    // Tokens one by one after `context` others. Each repeat is one token.
    Result<BenchWork> decode(std::size_t context);

    // All samples so far.
    const backend::cpu::Samples& reading() const { return reading_; }
    const backend::cpu::Samples& arithmetic() const { return arithmetic_; }

private:
    template <class Run>
    Status repeat(BenchWork& work, const module::Session* session, const Run& run);
    Result<double> sample(bool reading, backend::cpu::Samples& samples);
    void append(generate::Sequence& sequence, std::size_t tokens) const;

    Engine& engine_;
    backend::cpu::MachineLimits& limits_;
    const backend::cpu::PeakLoop& peak_;
    Repeats repeats_;
    backend::cpu::Samples reading_, arithmetic_;
};

}  // namespace inkstone::runtime
