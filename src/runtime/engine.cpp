// Loading and the flow of one request: preprocess, prompt, estimate, vision, prefill, decode, detokenise.
#include "runtime/engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "generate/stop_strings.h"
#include "graph/passes/passes.h"
#include "image/smart_resize.h"
#include "model/hunyuan_vl/text.h"
#include "model/hunyuan_vl/vision.h"
#include "module/operations.h"
#include "module/precision_report.h"
#include "text/detokenizer.h"

namespace inkstone::runtime {
namespace {

namespace model = model::hunyuan_vl;

double now_ms() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::size_t rows_of(const inkstone::module::RowCounts& rows, ops::Rows kind) {
    return rows[static_cast<std::size_t>(kind)];
}

// Sets the backend's cancel tokens for the length of a request.
class CancelScope {
public:
    CancelScope(backend::Backend& backend, const std::atomic<bool>* cancel, const std::atomic<bool>* expired = nullptr)
        : backend_(backend) {
        backend_.set_cancel(cancel, expired);
    }
    ~CancelScope() { backend_.set_cancel(nullptr); }
    CancelScope(const CancelScope&) = delete;
    CancelScope& operator=(const CancelScope&) = delete;

private:
    backend::Backend& backend_;
};

// The patches that a picture will have.
Result<model::ImageGrid> grid_of(const image::Image& picture, const image::Preprocessing& preprocessing) {
    INKSTONE_TRY(const image::Size size,
                 image::smart_resize({picture.height, picture.width},
                                     std::int64_t{preprocessing.patch_size} * preprocessing.merge_size,
                                     preprocessing.min_pixels, preprocessing.max_pixels));
    return model::ImageGrid{static_cast<std::size_t>(size.height / preprocessing.patch_size),
                            static_cast<std::size_t>(size.width / preprocessing.patch_size)};
}

// Stages of a part's products.
bool every_stage(std::string_view) { return true; }
bool is_head(std::string_view stage) { return stage == "lm_head"; }
bool is_decoder(std::string_view stage) { return !is_head(stage); }

// How precisions q8 and q4 keep weights.
constexpr tensor::QuantisedFormat kQ8{tensor::WeightFormat::q8, {64, tensor::ScaleType::f16}},
    kQ4{tensor::WeightFormat::q4, {32, tensor::ScaleType::f16}};

// A larger arena of the vision tower is given back after each picture: taking it anew costs little beside the work.
constexpr std::uint64_t kArenaKept = std::uint64_t{64} << 20;

// A table of equal cells is periodic for its whole length; what is longer than this is a loop even there.
constexpr generate::RepetitionLimits kLimitsInTable{8, 4096};

// Whether an HTML table is open at the end of a growing text.
class TableTracker {
public:
    void follow(const std::string& text) {
        for (std::size_t at;
             (at = std::min(text.find("<table", read_), text.find("</table", read_))) != std::string::npos;
             read_ = at + 1)
            open_ = text[at + 1] == 't';
        // A tag may still be growing at the end.
        constexpr std::size_t kLongestTag = 7;
        read_ = std::max(read_, text.size() < kLongestTag ? 0 : text.size() - kLongestTag + 1);
    }
    bool open() const { return open_; }

private:
    std::size_t read_ = 0;
    bool open_ = false;
};

// Whether the request's time limit ended it; a caller who cancelled comes first.
bool time_is_over(const AnswerOptions& options) {
    const bool cancelled = options.cancel != nullptr && options.cancel->load();
    return !cancelled && options.expired != nullptr && options.expired->load();
}

std::string mebibytes(std::uint64_t bytes) { return std::to_string((bytes + (1U << 20) - 1) >> 20) + " MiB"; }

// A limit as it was given: in whole mebibytes when it is, else to the byte.
std::string exact_size(std::uint64_t bytes) {
    if (bytes % (1U << 20) == 0) return mebibytes(bytes);
    return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

Error over_limit(const std::string& need, std::uint64_t limit, const std::string& remedy) {
    return {ErrorCode::out_of_memory, "estimate memory", "memory_limit",
            need + ", more than the limit of " + exact_size(limit) + "; " + remedy + " (--memory-limit)"};
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::load(const std::filesystem::path& folder, EngineOptions options) {
    const double start = now_ms();
    INKSTONE_TRY(auto package, Package::open(folder));
    std::unique_ptr<Engine> engine(new Engine(std::move(package)));
    engine->options_ = std::move(options);
    const EngineOptions& chosen = engine->options_;

    image::Preprocessing& preprocessing = engine->package_.preprocessing;
    if (chosen.max_pixels > 0) {
        preprocessing.max_pixels = chosen.max_pixels;
    } else if (chosen.default_max_pixels > 0 && preprocessing.max_pixels > chosen.default_max_pixels) {
        preprocessing.max_pixels = chosen.default_max_pixels;
        engine->max_pixels_lowered_ = true;
    }
    if (chosen.min_pixels > 0) {
        preprocessing.min_pixels = chosen.min_pixels;
    } else {
        preprocessing.min_pixels = std::min(preprocessing.min_pixels, preprocessing.max_pixels);
    }
    if (preprocessing.min_pixels > preprocessing.max_pixels)
        return Error{ErrorCode::invalid_argument, "load", "min_pixels",
                     "is " + std::to_string(preprocessing.min_pixels) + ", expected at most max_pixels " +
                         std::to_string(preprocessing.max_pixels)};

    const model::Config& config = engine->package_.config;
    const format::Checkpoint& checkpoint = engine->package_.checkpoint;
    INKSTONE_TRY(const auto weights, model::Weights::open(checkpoint, config));
    INKSTONE_TRY(auto vision_graph, model::vision_graph(config, weights));
    INKSTONE_TRY(auto text_graph, model::text_graph(config, weights));
    if (chosen.fuse) {
        vision_graph = graph::passes::fuse(std::move(vision_graph));
        text_graph = graph::passes::fuse(std::move(text_graph));
    }
    const PartPrecisions& precision = chosen.precision;
    for (const auto& [part, name] : {std::pair{precision.vision, "vision"}, std::pair{precision.kv, "kv"}})
        if (part == Precision::q8 || part == Precision::q4)
            return Error{ErrorCode::unsupported, "load", "precision",
                         std::string(name) + " is " + (part == Precision::q8 ? "q8" : "q4") +
                             ", expected f32 or bf16; q8 and q4 are for decoder and head"};
    if (precision.vision == Precision::bf16) {
        vision_graph = graph::passes::use_bf16(std::move(vision_graph), every_stage);
        vision_graph.kv.storage = tensor::KvStorage::bf16;
        INKSTONE_CHECK(tensor::check(vision_graph.kv));
    }
    const auto lower = [&](Precision part, bool (*in_part)(std::string_view stage)) {
        if (part == Precision::bf16) text_graph = graph::passes::use_bf16(std::move(text_graph), in_part);
        if (part == Precision::q8) text_graph = graph::passes::use_int8(std::move(text_graph), kQ8, in_part);
        if (part == Precision::q4) text_graph = graph::passes::use_int8(std::move(text_graph), kQ4, in_part);
    };
    lower(precision.decoder, is_decoder);
    lower(precision.head, is_head);
    if (precision.kv == Precision::bf16) {
        text_graph.kv.storage = tensor::KvStorage::bf16;
        INKSTONE_CHECK(tensor::check(text_graph.kv));
    }
    const std::uint64_t least_vision = inkstone::module::Weights::least_bytes(vision_graph),
                        least_text = inkstone::module::Weights::least_bytes(text_graph);
    INKSTONE_CHECK(engine->check_weights(least_vision + least_text));
    INKSTONE_TRY(engine->backend_, backend::cpu::CpuBackend::create(chosen.instruction_set, chosen.threads));
    backend::Backend& backend = *engine->backend_;

    const CancelScope cancel(backend, chosen.cancel);
    std::uint64_t before = 0, done = 0;
    inkstone::module::LoadHooks hooks;
    hooks.read = [&](std::span<const std::byte> part, std::byte* out) { return checkpoint.read(part, out); };
    hooks.read_failure = [&](std::span<const std::byte> part) { return checkpoint.read_failure(part); };
    hooks.admit = [&](std::uint64_t bytes) { return engine->check_weights(bytes + least_text); };
    hooks.progress = [&](std::uint64_t bytes) {
        done = before + bytes;
        if (chosen.on_load) chosen.on_load(done, checkpoint.total_bytes());
    };
    INKSTONE_TRY(auto vision_module, inkstone::module::Module::create(std::move(vision_graph), backend, hooks));
    before = done;
    hooks.admit = [&](std::uint64_t bytes) { return engine->check_weights(vision_module->weights().bytes() + bytes); };
    INKSTONE_TRY(auto text_module, inkstone::module::Module::create(std::move(text_graph), backend, hooks));
    INKSTONE_CHECK(checkpoint.check_unchanged());
    // Tensors that the model does not use were not counted.
    if (chosen.on_load && done < checkpoint.total_bytes()) hooks.progress(checkpoint.total_bytes() - before);
    engine->pool_ = std::make_unique<inkstone::module::KvPool>(backend, text_module->graph().kv);
    engine->scratch_ = std::make_unique<inkstone::module::ScratchBlocks>(backend, vision_module->graph().kv);
    INKSTONE_TRY(engine->vision_, inkstone::module::Session::create(std::move(vision_module), chosen.vision_taps));
    INKSTONE_TRY(engine->decoder_, generate::Decoder::create(std::move(text_module), chosen.text_taps));
    if (chosen.strategy == Strategy::lookahead)
        engine->strategy_ = std::make_unique<generate::Lookahead>(generate::LookaheadOptions{chosen.block_size});
    else
        engine->strategy_ = std::make_unique<generate::Autoregressive>();
    engine->options_.on_load = nullptr;  // the caller's, for the length of loading
    engine->options_.cancel = nullptr;
    engine->load_ms_ = now_ms() - start;
    return engine;
}

PartReport Engine::precision_report() const {
    const auto& text = decoder_->session().module();
    return {inkstone::module::describe_products(vision_->module(), every_stage),
            inkstone::module::describe_products(text, is_decoder), inkstone::module::describe_products(text, is_head),
            pool_->layout().storage == tensor::KvStorage::bf16 ? "bf16" : "f32"};
}

std::uint64_t Engine::activation_bytes() const {
    return vision_->arena_bytes() + decoder_->session().arena_bytes() + scratch_->bytes();
}

std::uint64_t Engine::vision_arena_bytes(const model::ImageGrid& grid) const {
    const auto rows = model::vision_rows(package_.config, grid.height, grid.width);
    return vision_->planned_bytes(rows) +
           inkstone::module::ScratchBlocks::bytes_for(vision_->module().graph().kv, rows_of(rows, ops::Rows::patch));
}

void Engine::release_large_arena() {
    if (vision_->arena_bytes() + scratch_->bytes() <= kArenaKept) return;
    vision_->release_arena();
    scratch_->release();
}

void Engine::release_kept_memory() {
    if (options_.memory_limit_bytes == 0) return;
    pool_->trim();
    scratch_->release();
    vision_->release_arena();
    decoder_->session().release_arena();
}

MemoryEstimate Engine::estimate(std::span<const model::ImageGrid> grids, std::uint64_t source_bytes,
                                std::size_t prompt_tokens, std::size_t new_tokens) const {
    MemoryEstimate estimate;
    estimate.weights = weight_bytes();
    const std::size_t tokens = std::min(prompt_tokens + new_tokens, package_.config.text.max_position_embeddings);
    estimate.cache = (tokens + tensor::kBlockPositions - 1) / tensor::kBlockPositions * pool_->page_bytes();
    inkstone::module::RowCounts rows{};
    rows[static_cast<std::size_t>(ops::Rows::token)] = std::min(prompt_tokens, generate::Decoder::kMaximumRows);
    rows[static_cast<std::size_t>(ops::Rows::logit)] = 1;
    estimate.activations = decoder_->session().planned_bytes(rows);
    const std::size_t block = strategy_->block_size();
    rows[static_cast<std::size_t>(ops::Rows::token)] = rows[static_cast<std::size_t>(ops::Rows::logit)] = block;
    estimate.activations = std::max<std::uint64_t>(estimate.activations, decoder_->session().planned_bytes(rows));

    const auto patch_size = static_cast<std::size_t>(package_.preprocessing.patch_size);
    std::uint64_t visual = 0;
    for (const model::ImageGrid& grid : grids) {
        const std::uint64_t samples = grid.height * grid.width * 3 * patch_size * patch_size;
        const std::uint64_t patches = samples * sizeof(float);
        const std::uint64_t arena = vision_arena_bytes(grid);
        // Three phases follow one another: the picture is resized, cut into patches, and computed on.
        const std::uint64_t kept = arena <= kArenaKept ? arena : 0;
        estimate.vision =
            std::max({estimate.vision, kept + source_bytes + samples, kept + samples + patches, patches + arena});
        visual += model::visual_tokens(package_.config, grid.height, grid.width) * package_.config.text.hidden_size *
                  sizeof(float);
    }
    estimate.vision += visual;
    return estimate;
}

Result<TimeEstimate> Engine::estimate_time(std::span<const model::ImageGrid> grids, std::size_t prompt_tokens) {
    if (!vision_speed_) {
        INKSTONE_TRY(vision_speed_, measure_speed(vision_->module()));
        INKSTONE_TRY(text_speed_, measure_speed(decoder_->session().module()));
    }
    // Attention runs at about two thirds of the speed of products (docs/attention.md).
    constexpr double kAttentionCost = 1.5;
    const auto ms = [&](const inkstone::module::Operations& work, const Speed& speed) {
        return (work.products + kAttentionCost * work.attention) / speed.operations_per_ms;
    };
    TimeEstimate time;
    for (const model::ImageGrid& grid : grids) {
        const auto rows = model::vision_rows(package_.config, grid.height, grid.width);
        const auto patches = static_cast<double>(rows_of(rows, ops::Rows::patch));
        time.vision_ms += ms(inkstone::module::operations(vision_->module().graph(), rows, patches), *vision_speed_);
    }
    inkstone::module::RowCounts rows{};
    rows[static_cast<std::size_t>(ops::Rows::token)] = prompt_tokens;
    rows[static_cast<std::size_t>(ops::Rows::logit)] = 1;
    const graph::Graph& text = decoder_->session().module().graph();
    time.prefill_ms =
        ms(inkstone::module::operations(text, rows, static_cast<double>(prompt_tokens) / 2), *text_speed_);
    // A token reads all weights and the keys and values before it.
    const std::size_t cached = (prompt_tokens + tensor::kBlockPositions - 1) / tensor::kBlockPositions;
    time.token_ms =
        static_cast<double>(text_weights().bytes() + cached * pool_->page_bytes()) / text_speed_->weight_bytes_per_ms;
    return time;
}

Status Engine::check_memory(const MemoryEstimate& estimate) const {
    const std::uint64_t limit = options_.memory_limit_bytes;
    if (limit == 0 || estimate.total() <= limit) return {};
    return over_limit("this needs " + mebibytes(estimate.total()) + " (weights " + mebibytes(estimate.weights) +
                          ", keys and values " + mebibytes(estimate.cache) + ", activations " +
                          mebibytes(estimate.activations) + ", pictures " + mebibytes(estimate.vision) + ")",
                      limit, "lower max_pixels or max_new_tokens, or raise memory_limit");
}

Status Engine::check_weights(std::uint64_t bytes) const {
    const std::uint64_t limit = options_.memory_limit_bytes;
    if (limit == 0 || bytes <= limit) return {};
    return over_limit("the model's weights need " + mebibytes(bytes), limit, "raise memory_limit");
}

Status Engine::admit_picture(const image::DecodeDemand& demand, std::uint64_t held_bytes) const {
    const std::uint64_t limit = options_.memory_limit_bytes;
    if (limit == 0) return {};
    // Sides have at most 31 bits and files far less than 2^62 bytes: nothing wraps.
    const std::uint64_t pixels = 3 * demand.width * demand.height;
    const std::uint64_t needed = weight_bytes() + held_bytes + demand.encoded_bytes + pixels + demand.working_bytes;
    if (needed > limit) {
        std::string parts = "weights " + mebibytes(weight_bytes()) + ", its file " + mebibytes(demand.encoded_bytes);
        if (pixels > 0)
            parts += ", its " + std::to_string(demand.width) + " x " + std::to_string(demand.height) + " pixels " +
                     mebibytes(pixels);
        if (demand.working_bytes > 0) parts += ", its decoder " + mebibytes(demand.working_bytes);
        if (held_bytes > 0) parts += ", pictures before it " + mebibytes(held_bytes);
        return over_limit("decoding it needs " + mebibytes(needed) + " (" + parts + ")", limit,
                          "scale the picture down, or raise memory_limit");
    }
    if (pixels == 0) return {};
    // A lower bound of what the request will need: the prompt's text is not counted, and which way up the picture is
    // meant is not known yet. recognize() compares the whole.
    std::optional<MemoryEstimate> least;
    for (const auto& [w, h] : {std::pair(demand.width, demand.height), std::pair(demand.height, demand.width)}) {
        const auto grid = grid_of({static_cast<int>(w), static_cast<int>(h), {}}, package_.preprocessing);
        if (!grid) return {};  // a shape that is refused once the picture is known to be whole
        const std::size_t tokens = model::visual_tokens(package_.config, grid->height, grid->width);
        const MemoryEstimate reading = estimate({&*grid, 1}, held_bytes + pixels, tokens, 0);
        if (!least || reading.total() < least->total()) least = reading;
    }
    return check_memory(*least);
}

Status Engine::check_context(std::size_t prompt_tokens) const {
    const std::size_t context = package_.config.text.max_position_embeddings;
    if (prompt_tokens <= context) return {};
    return Error{ErrorCode::context_full, "build prompt", "prompt",
                 "has at least " + std::to_string(prompt_tokens) + " tokens, expected at most " +
                     std::to_string(context) + " (the model's context); lower max_pixels or shorten the prompt"};
}

Status Engine::run_vision(const image::Patches& patches, std::vector<float>& visual) {
    const graph::Graph& graph = vision_->module().graph();
    const auto rows = model::vision_rows(package_.config, static_cast<std::size_t>(patches.grid_height),
                                         static_cast<std::size_t>(patches.grid_width));
    INKSTONE_TRY(const backend::KvView kv, scratch_->prepare(rows_of(rows, ops::Rows::patch)));
    vision_->bind(graph.inputs.at("patches"), patches.values.data());
    INKSTONE_CHECK(vision_->run(
        rows, kv, {static_cast<std::size_t>(patches.grid_height), static_cast<std::size_t>(patches.grid_width)}));
    const graph::Value output = graph.outputs.at("visual");
    const float* data = vision_->value(output);
    visual.assign(data, data + rows_of(rows, ops::Rows::visual) * graph.values[output.index].width);
    return {};
}

Result<Answer> Engine::recognize(Request request, const AnswerOptions& options) {
    const CancelScope cancel(*backend_, options.cancel, options.expired);
    release_kept_memory();
    Answer answer;
    const Status done = read(std::move(request), options, answer);
    if (done) return answer;
    if (done.error().code != ErrorCode::cancelled || !time_is_over(options)) return done.error();
    answer.generated.finish = generate::Finish::time_limit;  // before the first token
    release_large_arena();
    return answer;
}

Status Engine::read(Request request, const AnswerOptions& options, Answer& answer) {
    const model::Config& config = package_.config;

    // Sizes, tokens and memory come first: what is too large is refused before any work.
    std::vector<model::ImageGrid> grids;
    for (const image::Image& picture : request.images) {
        INKSTONE_TRY(const model::ImageGrid grid, grid_of(picture, package_.preprocessing));
        answer.visual_tokens += model::visual_tokens(config, grid.height, grid.width);
        INKSTONE_CHECK(check_context(answer.visual_tokens));
        grids.push_back(grid);
    }
    INKSTONE_TRY(const auto prompt, model::build_prompt(config, package_.prompt_format, package_.tokenizer,
                                                        request.system, grids, request.prompt));
    answer.prompt_tokens = prompt.ids.size();
    INKSTONE_CHECK(check_context(prompt.ids.size()));
    std::uint64_t source_bytes = 0;
    for (const image::Image& picture : request.images) source_bytes += picture.pixels.size();
    const MemoryEstimate needed = estimate(grids, source_bytes, prompt.ids.size(), options.max_new_tokens);
    INKSTONE_CHECK(check_memory(needed));
    if (options.on_estimate) {
        INKSTONE_TRY(const TimeEstimate time, estimate_time(grids, prompt.ids.size()));
        options.on_estimate(needed, time);
    }

    std::vector<std::vector<float>> visual(grids.size());
    for (std::size_t i = 0; i < grids.size(); ++i) {
        if (options.on_progress)
            options.on_progress("vision", static_cast<std::int64_t>(i), static_cast<std::int64_t>(visual.size()));
        double start = now_ms();
        INKSTONE_TRY(auto patches,
                     image::preprocess(std::move(request.images[i]), package_.preprocessing, options.cancel));
        answer.timing.preprocess_ms += now_ms() - start;
        start = now_ms();
        const Status seen = run_vision(patches, visual[i]);
        answer.timing.vision_ms += now_ms() - start;
        std::vector<float>().swap(patches.values);
        answer.images.push_back(std::move(patches));
        INKSTONE_CHECK(seen);
        release_large_arena();
    }

    generate::Sequence sequence(*pool_, config.text.mrope_section.size());
    sequence.append(prompt.ids, prompt.positions);
    const std::size_t width = config.text.hidden_size;
    for (std::size_t i = 0; i < visual.size(); ++i) {
        const std::size_t rows = visual[i].size() / width;
        const std::size_t expected = model::visual_tokens(config, grids[i].height, grids[i].width);
        if (rows != expected)
            return Error{ErrorCode::mismatch, "scatter", "image " + std::to_string(i),
                         "has " + std::to_string(rows) + " visual tokens, expected as many as placeholders, " +
                             std::to_string(expected)};
        sequence.set_visual(prompt.image_offsets[i], rows, visual[i].data(), width);
    }

    text::Detokenizer detokenizer(package_.tokenizer);
    generate::StopStrings stop(options.stop);
    TableTracker tables;
    const auto emit = [&](std::string piece) {
        if (piece.empty()) return true;
        answer.text += piece;
        tables.follow(answer.text);
        return !options.on_text || options.on_text(piece);
    };
    generate::GeneratorOptions generation;
    static_cast<generate::SamplerOptions&>(generation) = options.sampler;
    generation.stop_ids = package_.generation.stop_ids;
    generation.max_new_tokens = options.max_new_tokens;
    generation.cancel = options.cancel;
    generation.context_length = config.text.max_position_embeddings;
    if (options.repetition_guard)
        generation.repetition_limits = [&] { return tables.open() ? kLimitsInTable : generate::RepetitionLimits{}; };
    std::int64_t tokens = 0;
    generation.on_token = [&](std::int32_t id) {
        const double before = now_ms();
        std::string piece = stop.push(detokenizer.push(id));
        answer.timing.detokenize_ms += now_ms() - before;
        if (options.on_progress)
            options.on_progress("decode", ++tokens, static_cast<std::int64_t>(options.max_new_tokens));
        return emit(std::move(piece));
    };
    generation.ended = [&]() -> std::optional<generate::Finish> {
        if (stop.stopped()) return generate::Finish::stop;
        if (time_is_over(options)) return generate::Finish::time_limit;
        return std::nullopt;
    };
    if (options.on_progress)
        generation.on_prefill = [&](std::size_t done, std::size_t total) {
            options.on_progress("prefill", static_cast<std::int64_t>(done), static_cast<std::int64_t>(total));
        };
    const inkstone::module::Session& session = decoder_->session();
    const double embed_before = session.stage_ms("embed"), head_before = session.stage_ms("lm_head");
    INKSTONE_TRY(answer.generated, generate::generate(*decoder_, sequence, *strategy_, generation));
    // What a cut character or the beginning of a stop string leaves is part of the text; a caller who ended the
    // generation is not called again.
    std::string rest = stop.push(detokenizer.flush());
    rest += stop.flush();
    if (answer.generated.finish == generate::Finish::cancelled)
        answer.text += rest;
    else
        emit(std::move(rest));
    if (answer.generated.finish == generate::Finish::repetition)
        answer.text = package_.tokenizer.decode(answer.generated.ids, true);
    answer.timing.embed_ms = session.stage_ms("embed") - embed_before;
    answer.timing.lm_head_ms = session.stage_ms("lm_head") - head_before;
    answer.timing.prefill_ms = answer.generated.prefill_ms;
    answer.timing.decode_ms = answer.generated.decode_ms;
    answer.timing.sample_ms = answer.generated.sample_ms;
    answer.sequence_length = sequence.size();
    answer.cache_length = sequence.cached();
    return {};
}

}  // namespace inkstone::runtime
