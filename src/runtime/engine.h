// HunyuanOCR put together: pictures and a prompt in, text out. The public Runtime is a thin face over this; everything
// here returns Result and is used by one thread at a time.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "base/result.h"
#include "generate/decoder.h"
#include "generate/generator.h"
#include "generate/lookahead.h"
#include "image/decode.h"
#include "image/image.h"
#include "image/patches.h"
#include "module/kv_pool.h"
#include "module/scratch_blocks.h"
#include "module/session.h"
#include "runtime/package.h"
#include "runtime/speed.h"

namespace inkstone::runtime {

enum class Precision : std::uint8_t { f32, bf16, q8, q4 };
enum class Strategy : std::uint8_t { ar, lookahead };
// Arithmetic of each part; kv is the storage of the decoder's keys and values. q8 and q4 are for the decoder and the
// head; of vision and kv they are refused at load.
struct PartPrecisions {
    Precision vision = Precision::f32, decoder = Precision::f32, head = Precision::f32, kv = Precision::f32;
};

struct EngineOptions {
    PartPrecisions precision;
    backend::cpu::InstructionSet instruction_set = backend::cpu::best_set();
    Strategy strategy = Strategy::ar;
    std::size_t block_size = generate::kMaximumBlock;  // of strategies that draft, 1 to kMaximumBlock
    int threads = 1;
    std::int64_t min_pixels = 0;           // 0: the package's
    std::int64_t max_pixels = 0;           // 0: the package's, at most default_max_pixels
    std::int64_t default_max_pixels = 0;   // 0: no such bound
    std::uint64_t memory_limit_bytes = 0;  // 0: none
    std::function<void(std::uint64_t done, std::uint64_t total)> on_load;  // bytes of weights
    const std::atomic<bool>* cancel = nullptr;                             // of loading
    bool fuse = true;  // false: operators run as the model names them, for validation; the text is the same
    // Values that stay readable after a run, for validation.
    std::vector<std::string> vision_taps, text_taps;
};

struct Request {
    std::vector<image::Image> images;
    std::string_view system, prompt;
};

// Bytes that a request needs at most at one time, by purpose.
struct MemoryEstimate {
    std::uint64_t weights = 0;
    std::uint64_t cache = 0;        // keys and values
    std::uint64_t activations = 0;  // of the decoder
    std::uint64_t vision = 0;       // the most that a picture takes on its way to visual tokens
    std::uint64_t total() const { return weights + cache + activations + vision; }
};

// About how long a request takes, in milliseconds.
struct TimeEstimate {
    double vision_ms = 0, prefill_ms = 0, token_ms = 0;
};

// Arithmetic and storage of each part, in words.
struct PartReport {
    std::string vision, decoder, head, kv;
};

struct AnswerOptions {
    std::size_t max_new_tokens = 0;
    generate::SamplerOptions sampler;
    std::vector<std::string> stop;  // texts that end the answer; not empty, valid UTF-8
    bool repetition_guard = false;
    const std::atomic<bool>* cancel = nullptr;   // ends the call with an error
    const std::atomic<bool>* expired = nullptr;  // ends it with what there is by then (Finish::time_limit)
    std::function<void(const MemoryEstimate&, const TimeEstimate&)> on_estimate;  // before the work
    std::function<bool(std::string_view)> on_text;  // whole characters; false ends the generation
    std::function<void(std::string_view stage, std::int64_t done, std::int64_t total)> on_progress;
};

// Milliseconds by stage. embed and lm_head are parts of prefill and decode.
struct Timing {
    double preprocess_ms = 0, vision_ms = 0, prefill_ms = 0, decode_ms = 0, sample_ms = 0, detokenize_ms = 0;
    double embed_ms = 0, lm_head_ms = 0;
};

struct Answer {
    std::string text;
    generate::GeneratorResult generated;
    std::vector<image::Patches> images;  // sizes and grids; their values are emptied
    std::size_t prompt_tokens = 0, visual_tokens = 0;
    std::size_t sequence_length = 0, cache_length = 0;
    Timing timing;
};

class Engine {
public:
    // Errors: those of Package::open, Weights::open and Module::create; out_of_memory when the weights alone pass the
    // limit.
    static Result<std::unique_ptr<Engine>> load(const std::filesystem::path& folder, EngineOptions options);

    // Reads pictures: they stand before the prompt in order. Errors: those of each stage, invalid_argument of the
    // sampler's options; after one the engine is as it was before. A page whose estimate passes the memory limit is
    // refused before any work.
    Result<Answer> recognize(Request request, const AnswerOptions& options);

    // Before a picture is decoded, as image::DecodeOptions::admit: refuses with out_of_memory what cannot be decoded
    // within the memory limit, or not be read afterwards. held_bytes: pixels of pictures of the same request.
    Status admit_picture(const image::DecodeDemand& demand, std::uint64_t held_bytes) const;

    // Gives back what earlier requests left for reuse, when there is a memory limit: it is in no estimate. recognize()
    // does so itself; whoever decodes pictures first calls it before that.
    void release_kept_memory();

    const Package& package() const { return package_; }
    std::int64_t max_pixels() const { return package_.preprocessing.max_pixels; }
    // Whether default_max_pixels lowered the package's bound.
    bool max_pixels_lowered() const { return max_pixels_lowered_; }
    backend::cpu::CpuBackend& backend() { return *backend_; }
    const module::Weights& vision_weights() const { return vision_->module().weights(); }
    const module::Weights& text_weights() const { return decoder_->session().module().weights(); }
    // What each part really uses: "bf16 arithmetic, bf16 weights"; of keys and values the storage.
    PartReport precision_report() const;
    std::uint64_t weight_bytes() const { return vision_weights().bytes() + text_weights().bytes(); }
    std::uint64_t cache_bytes() const { return pool_->bytes(); }
    std::uint64_t activation_bytes() const;
    std::string_view strategy() const { return strategy_->name(); }
    double load_ms() const { return load_ms_; }

    // What pictures of these grids, decoded to this many bytes in all, and these numbers of tokens need.
    MemoryEstimate estimate(std::span<const model::hunyuan_vl::ImageGrid> grids, std::uint64_t source_bytes,
                            std::size_t prompt_tokens, std::size_t new_tokens) const;

    // The time of the same; the first call measures the machine's speed. Errors: those of measure_speed.
    Result<TimeEstimate> estimate_time(std::span<const model::hunyuan_vl::ImageGrid> grids, std::size_t prompt_tokens);

    // For validation: the sessions whose taps were asked for.
    module::Session& vision_session() { return *vision_; }
    generate::Decoder& decoder() { return *decoder_; }
    // For validation: visual tokens of one image, [visual tokens, hidden].
    Status run_vision(const image::Patches& patches, std::vector<float>& visual);

private:
    Status read(Request request, const AnswerOptions& options, Answer& answer);
    explicit Engine(Package package) : package_(std::move(package)) {}
    std::uint64_t vision_arena_bytes(const model::hunyuan_vl::ImageGrid& grid) const;
    void release_large_arena();
    Status check_context(std::size_t prompt_tokens) const;
    Status check_memory(const MemoryEstimate& estimate) const;
    Status check_weights(std::uint64_t bytes) const;

    Package package_;
    EngineOptions options_;
    bool max_pixels_lowered_ = false;
    double load_ms_ = 0;
    std::unique_ptr<backend::cpu::CpuBackend> backend_;  // outlives all below
    std::unique_ptr<module::KvPool> pool_;
    std::unique_ptr<module::ScratchBlocks> scratch_;
    std::unique_ptr<module::Session> vision_;
    std::unique_ptr<generate::Decoder> decoder_;
    std::unique_ptr<generate::Strategy> strategy_;    // keeps what steps cost here from request to request
    std::optional<Speed> vision_speed_, text_speed_;  // measured when first asked for
};

}  // namespace inkstone::runtime
