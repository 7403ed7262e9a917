// Conversion and checks.
#include "runtime/options.h"

#include <string>
#include <utility>

#include "base/stack.h"
#include "base/thread_pool.h"
#include "runtime/hub_cache.h"

namespace inkstone::runtime {
namespace {

backend::cpu::InstructionSet instruction_set(hunyuan_ocr::InstructionSet wanted) {
    using backend::cpu::InstructionSet;
    switch (wanted) {
        case hunyuan_ocr::InstructionSet::reference:
            return InstructionSet::reference;
        case hunyuan_ocr::InstructionSet::portable:
            return InstructionSet::portable;
        case hunyuan_ocr::InstructionSet::avx2:
            return InstructionSet::avx2;
        case hunyuan_ocr::InstructionSet::avx512:
            return InstructionSet::avx512;
        case hunyuan_ocr::InstructionSet::avx512_vnni:
            return InstructionSet::avx512_vnni;
        case hunyuan_ocr::InstructionSet::avx512_bf16:
            return InstructionSet::avx512_bf16;
        case hunyuan_ocr::InstructionSet::automatic:
            break;
    }
    return backend::cpu::best_set();
}

void refuse_negative(const char* option, std::int64_t value) {
    if (value < 0)
        throw hunyuan_ocr::Error(hunyuan_ocr::ErrorCode::invalid_argument, "load", option,
                                 "is " + std::to_string(value) + ", expected 0 (the default) or more");
}

static_assert(hunyuan_ocr::kMaximumBlockSize == generate::kMaximumBlock);

std::size_t block_size(const hunyuan_ocr::RuntimeOptions& options) {
    const int size = options.block_size;
    if (size < 0 || size > hunyuan_ocr::kMaximumBlockSize)
        throw hunyuan_ocr::Error(hunyuan_ocr::ErrorCode::invalid_argument, "load", "block_size",
                                 "is " + std::to_string(size) + ", expected 1 to " +
                                     std::to_string(hunyuan_ocr::kMaximumBlockSize) + ", or 0 for the strategy's own");
    if (options.strategy == hunyuan_ocr::Strategy::ar)
        throw hunyuan_ocr::Error(
            hunyuan_ocr::ErrorCode::invalid_argument, "load", "block_size",
            "is " + std::to_string(size) + ", but strategy ar makes one token a step; choose lookahead, or leave it 0");
    return static_cast<std::size_t>(size);
}

}  // namespace

void raise(Error error) {
    throw hunyuan_ocr::Error(static_cast<hunyuan_ocr::ErrorCode>(error.code), std::move(error.stage),
                             std::move(error.subject), std::move(error.message));
}

std::filesystem::path resolve_model(const std::filesystem::path& model_dir) {
    std::error_code error;
    if (std::filesystem::exists(model_dir, error)) return model_dir;
    return find_hub_snapshot(model_dir.generic_string()).value_or(model_dir);
}

static_assert(hunyuan_ocr::kNeededStackBytes == kNeededStackBytes);

void require_stack(const char* stage) {
    const auto left = stack_left();
    if (!left || *left >= kNeededStackBytes) return;
    throw hunyuan_ocr::Error(hunyuan_ocr::ErrorCode::out_of_memory, stage, "stack",
                             "this thread has " + std::to_string(*left >> 10) +
                                 " KiB of stack left, expected at least " + std::to_string(kNeededStackBytes >> 10) +
                                 " KiB; call from a thread with a larger one (the main thread's is set by ulimit -s)");
}

EngineOptions engine_options(const hunyuan_ocr::RuntimeOptions& options) {
    refuse_negative("threads", options.threads);
    refuse_negative("min_pixels", options.min_pixels);
    refuse_negative("max_pixels", options.max_pixels);
    EngineOptions engine;
    engine.instruction_set = instruction_set(options.instruction_set);
    const auto precision = [](hunyuan_ocr::Precision of_part) {
        switch (of_part) {
            case hunyuan_ocr::Precision::f32:
                return Precision::f32;
            case hunyuan_ocr::Precision::bf16:
                return Precision::bf16;
            case hunyuan_ocr::Precision::q8:
                return Precision::q8;
            case hunyuan_ocr::Precision::q4:
                return Precision::q4;
        }
        return Precision::f32;
    };
    engine.precision = {precision(options.precision.vision), precision(options.precision.decoder),
                        precision(options.precision.head), precision(options.precision.kv)};
    engine.threads = options.threads > 0 ? options.threads : physical_cores();
    engine.strategy = options.strategy == hunyuan_ocr::Strategy::lookahead ? Strategy::lookahead : Strategy::ar;
    if (options.block_size != 0) engine.block_size = block_size(options);
    engine.min_pixels = options.min_pixels;
    engine.max_pixels = options.max_pixels;
    engine.default_max_pixels = hunyuan_ocr::kDefaultCpuMaxPixels;
    engine.cancel = options.cancel;
    engine.memory_limit_bytes = options.memory_limit_bytes;
    if (options.on_progress)
        engine.on_load = [&options](std::uint64_t done, std::uint64_t total) {
            options.on_progress({"load", static_cast<std::int64_t>(done), static_cast<std::int64_t>(total)});
        };
    return engine;
}

}  // namespace inkstone::runtime
