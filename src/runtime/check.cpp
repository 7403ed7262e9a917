// The items of a check, from the folder's files to a picture through the whole network. Each item says what was found;
// the first that fails ends the check, since what follows depends on it.
#include "hunyuan_ocr/check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "base/fingerprint.h"
#include "runtime/options.h"

namespace hunyuan_ocr {
namespace {

namespace internal = inkstone;
namespace model = internal::model::hunyuan_vl;
namespace fs = std::filesystem;

// Tokens of a usual prompt beside its picture.
constexpr std::size_t kPromptTokens = 64;
// Released configurations differ in these: 1.5 lengthened the context and raised the picture limit.
constexpr std::size_t kContextOf15 = 131072, kContextOf10 = 32768;

std::string count_of(std::size_t count, std::string_view noun) {
    return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string mebibytes(std::uint64_t bytes) { return std::to_string((bytes + (1U << 20) - 1) >> 20) + " MiB"; }

// 1.0 or 1.5 by the context length, which every published configuration carries.
std::string version_of(const model::Config& config) {
    if (config.text.max_position_embeddings >= kContextOf15) return "1.5";
    if (config.text.max_position_embeddings == kContextOf10) return "1.0";
    return "unknown";
}

// Number of the first element that is infinite or NaN, or nothing.
template <class Bits>
std::optional<std::size_t> first_not_finite(std::span<const std::byte> bytes, Bits exponent) {
    unsigned found = 0;  // counted without a branch, so that the loop is vectorised
    const auto element = [&](std::size_t i) {
        Bits bits;
        std::memcpy(&bits, bytes.data() + i * sizeof(Bits), sizeof(Bits));
        return (bits & exponent) == exponent;
    };
    const std::size_t count = bytes.size() / sizeof(Bits);
    for (std::size_t i = 0; i < count; ++i) found |= element(i) ? 1U : 0U;
    for (std::size_t i = 0; found != 0 && i < count; ++i)
        if (element(i)) return i;
    return std::nullopt;
}

std::optional<std::size_t> first_not_finite(internal::tensor::DataType type, std::span<const std::byte> bytes) {
    switch (type) {
        case internal::tensor::DataType::bf16:
            return first_not_finite<std::uint16_t>(bytes, 0x7F80);
        case internal::tensor::DataType::f16:
            return first_not_finite<std::uint16_t>(bytes, 0x7C00);
        case internal::tensor::DataType::f32:
            return first_not_finite<std::uint32_t>(bytes, 0x7F800000);
        default:
            return std::nullopt;  // refused when the tensors were looked up
    }
}

// A white page of dark marks in lines, 512 x 512: the same on every machine.
internal::image::Image probe_picture() {
    constexpr int kSide = 512;
    internal::image::Image picture;
    picture.width = picture.height = kSide;
    picture.pixels.assign(std::size_t{3} * kSide * kSide, 255);
    unsigned random = 1;
    for (int top = 24; top + 16 < kSide; top += 32)
        for (int left = 24; left + 10 < kSide - 24; left += 12) {
            random = random * 1664525U + 1013904223U;
            if ((random >> 28) == 0) continue;  // a gap between words
            for (int y = 0; y < 14; ++y)
                for (int x = 0; x < 8; ++x)
                    if ((random >> (8 + (x / 2 + y / 4 * 4) % 16) & 1U) != 0)
                        std::memset(picture.row(top + y) + 3 * (left + x), 32, 3);
        }
    return picture;
}

class Check {
public:
    Check(const fs::path& folder, const RuntimeOptions& options, const CancelToken* cancel)
        : folder_(folder), options_(internal::runtime::engine_options(options)), cancel_(cancel) {}

    CheckReport run() {
        const auto steps = {&Check::files,   &Check::config, &Check::companions, &Check::tokenizer,
                            &Check::tensors, &Check::finite, &Check::load,       &Check::probe};
        for (const auto step : steps) {
            if (cancel_ != nullptr && cancel_->load())
                throw Error(ErrorCode::cancelled, "check", folder_.string(), "was cancelled before it was done");
            if (!(this->*step)()) break;
        }
        return std::move(report_);
    }

private:
    bool passed(std::string name, std::string detail) {
        report_.items.push_back({std::move(name), true, std::move(detail)});
        return true;
    }
    bool failed(std::string name, std::string detail) {
        report_.items.push_back({std::move(name), false, std::move(detail)});
        return false;
    }
    bool failed(std::string name, const internal::Error& error) {
        // Neither is a fault of the package.
        if (error.code == internal::ErrorCode::cancelled || error.code == internal::ErrorCode::invalid_argument)
            internal::runtime::raise(error);
        return failed(std::move(name), error.text());
    }

    bool files() {
        std::error_code error;
        if (!fs::is_directory(folder_, error)) return failed("files", folder_.string() + " is not a folder");
        std::string missing, optional;
        for (const char* name : {"config.json", "preprocessor_config.json", "tokenizer.json"})
            if (!fs::exists(folder_ / name, error)) missing += std::string(missing.empty() ? "" : ", ") + name;
        if (!missing.empty()) return failed("files", missing + " missing: download the whole folder again");
        for (const char* name : {"generation_config.json", "chat_template.jinja", "tasks.json", "dflash/config.json"})
            if (fs::exists(folder_ / name, error)) optional += ", " + std::string(name);
        return passed("files", "config.json, preprocessor_config.json, tokenizer.json" + optional);
    }

    bool config() {
        auto config = model::read_config(folder_);
        if (!config) return failed("config.json", config.error());
        config_ = std::move(*config);
        const auto& text = config_.text;
        const auto& vision = config_.vision;
        report_.version = version_of(config_);
        passed("config.json", "text " + count_of(text.num_hidden_layers, "layer") + " of " +
                                  std::to_string(text.hidden_size) + ", vocabulary " + std::to_string(text.vocab_size) +
                                  ", context " + std::to_string(text.max_position_embeddings) + "; vision " +
                                  count_of(vision.num_hidden_layers, "layer") + " of " +
                                  std::to_string(vision.hidden_size));
        return passed(
            "version",
            report_.version == "unknown"
                ? "not a released HunyuanOCR: context " + std::to_string(text.max_position_embeddings) + ", 1.0 has " +
                      std::to_string(kContextOf10) + " and 1.5 has " + std::to_string(kContextOf15)
                : report_.version + " (by its context of " + std::to_string(text.max_position_embeddings) + ")");
    }

    bool companions() {
        const auto generation = model::read_generation_defaults(folder_, config_);
        if (!generation) return failed("generation_config.json", generation.error());
        std::string ids;
        for (const std::int32_t id : generation->stop_ids) ids += (ids.empty() ? "" : ", ") + std::to_string(id);
        passed("generation_config.json", "stop ids " + ids + ", repetition penalty " +
                                             std::to_string(generation->repetition_penalty) +
                                             (generation->do_sample ? "; tokens are drawn (do_sample)" : ""));
        const auto preprocessing = model::read_preprocessing(folder_, config_);
        if (!preprocessing) return failed("preprocessor_config.json", preprocessing.error());
        passed("preprocessor_config.json", std::to_string(preprocessing->min_pixels) + " to " +
                                               std::to_string(preprocessing->max_pixels) + " pixels");
        const auto tasks = model::Tasks::read(folder_);
        if (!tasks) return failed("tasks", tasks.error());
        std::string names;
        for (const auto& task : tasks->all()) names += (names.empty() ? "" : ", ") + task.name;
        return passed("tasks", names);
    }

    bool tokenizer() {
        const auto tokenizer = internal::text::Tokenizer::load(folder_ / "tokenizer.json");
        if (!tokenizer) return failed("tokenizer.json", tokenizer.error());
        if (const auto format = model::PromptFormat::of(*tokenizer, config_); !format)
            return failed("tokenizer.json", format.error());
        return passed("tokenizer.json",
                      count_of(tokenizer->vocabulary_size(), "id") + " of " + std::to_string(config_.text.vocab_size));
    }

    bool tensors() {
        auto checkpoint = internal::format::Checkpoint::open(folder_);
        if (!checkpoint) return failed("tensors", checkpoint.error());
        checkpoint_ = std::move(*checkpoint);
        auto weights = model::Weights::open(*checkpoint_, config_);
        if (!weights) return failed("tensors", weights.error());
        weights_ = std::move(*weights);
        std::uint64_t parameters = 0;
        for (const auto& [name, view] : weights_->tensors()) parameters += view->element_count();
        std::string detail = count_of(weights_->tensors().size(), "tensor") + ", " + std::to_string(parameters) +
                             " parameters, " + mebibytes(checkpoint_->total_bytes()) +
                             (weights_->old_names() ? ", older names" : ", names of the official class");
        if (!weights_->unused().empty())
            detail += "; " + count_of(weights_->unused().size(), "tensor") + " not used, the first " +
                      weights_->unused().front();
        return passed("tensors", std::move(detail));
    }

    bool finite() {
        internal::Fingerprint fingerprint;
        constexpr std::size_t kBlock = std::size_t{1} << 20;
        std::vector<std::byte> block(kBlock);
        for (const auto& [name, view] : weights_->tensors()) {
            if (cancel_ != nullptr && cancel_->load())
                throw Error(ErrorCode::cancelled, "check", name, "was cancelled before it was done");
            fingerprint.add(name);
            fingerprint.add(internal::tensor::name_of(view->type));
            fingerprint.add(internal::tensor::to_string(view->shape));
            for (std::size_t at = 0; at < view->bytes.size(); at += kBlock) {
                const auto part = view->bytes.subspan(at, std::min(kBlock, view->bytes.size() - at));
                if (!checkpoint_->read(part, block.data()))
                    return failed("finite weights", checkpoint_->read_failure(part));
                const auto bytes = std::span<const std::byte>(block).first(part.size());
                if (const auto element = first_not_finite(view->type, bytes))
                    return failed("finite weights",
                                  name + " has an infinity or NaN at element " +
                                      std::to_string(at / internal::tensor::bytes_per_element(view->type) + *element) +
                                      " of " + std::to_string(view->element_count()) +
                                      ": the file is damaged, download it again");
                fingerprint.add(bytes);
            }
        }
        report_.fingerprint = fingerprint.text();
        passed("finite weights", "all of them");
        return passed("fingerprint", report_.fingerprint);
    }

    bool load() {
        weights_.reset();
        checkpoint_.reset();
        options_.vision_taps = {"patch_embedding", "vision_layer_first", "vision_layer_last"};
        options_.text_taps = {"embedded", "decoder_layer_first", "decoder_layer_last"};
        auto engine = internal::runtime::Engine::load(folder_, options_);
        if (!engine) return failed("load", engine.error());
        engine_ = std::move(*engine);
        // A square page of as many pixels as a page may keep.
        const auto& preprocessing = engine_->package().preprocessing;
        const int factor = preprocessing.patch_size * preprocessing.merge_size;
        const double side = std::sqrt(static_cast<double>(engine_->max_pixels()));
        const auto grid = static_cast<std::size_t>(std::max(1, static_cast<int>(side) / factor)) *
                          static_cast<std::size_t>(preprocessing.merge_size);
        const model::ImageGrid page{grid, grid};
        const std::size_t tokens = model::visual_tokens(config_, grid, grid) + kPromptTokens;
        report_.memory_bytes = engine_
                                   ->estimate({&page, 1}, static_cast<std::uint64_t>(engine_->max_pixels()) * 3, tokens,
                                              static_cast<std::size_t>(kDefaultMaxNewTokens))
                                   .total();
        passed("load", std::to_string(static_cast<int>(engine_->load_ms())) + " ms, weights " +
                           mebibytes(engine_->weight_bytes()) + " in memory (vision " +
                           engine_->vision_weights().formats() + ", decoder " + engine_->text_weights().formats() +
                           ")");
        return passed("memory", mebibytes(report_.memory_bytes) + " for a page of " +
                                    std::to_string(engine_->max_pixels()) + " pixels and " +
                                    std::to_string(kDefaultMaxNewTokens) + " tokens of answer");
    }

    // Whether every value that the run kept is finite; names the first stage where one is not.
    bool finite_stages(internal::module::Session& session, std::initializer_list<const char*> stages,
                       std::size_t rows) {
        const auto& graph = session.module().graph();
        for (const char* stage : stages) {
            const auto value = graph.taps.at(stage);
            const float* data = session.value(value);
            if (!std::all_of(data, data + rows * graph.values[value.index].width,
                             [](float x) { return std::isfinite(x); }))
                return failed("probe picture",
                              std::string(stage) + " has an infinity or NaN: the weights do not fit this network");
        }
        return true;
    }

    bool probe() {
        constexpr int kProbeTokens = 8;
        const auto patches = internal::image::preprocess(probe_picture(), engine_->package().preprocessing);
        if (!patches) return failed("probe picture", patches.error());
        const auto& preprocessing = engine_->package().preprocessing;
        const bool fits = preprocessing.min_pixels <= 512 * 512 && preprocessing.max_pixels >= 512 * 512;
        const std::size_t tokens = model::visual_tokens(config_, static_cast<std::size_t>(patches->grid_height),
                                                        static_cast<std::size_t>(patches->grid_width));
        const std::string grid = std::to_string(patches->grid_height) + "x" + std::to_string(patches->grid_width);
        if (fits && config_.vision.patch_size == 16 && config_.vision.spatial_merge_size == 2 &&
            (grid != "32x32" || tokens != 274))
            return failed("probe picture", "512x512 pixels give grid " + grid + " and " + std::to_string(tokens) +
                                               " visual tokens, expected 32x32 and 274");

        std::vector<float> visual;
        if (const auto status = engine_->run_vision(*patches, visual); !status)
            return failed("probe picture", status.error());
        const auto patch_count =
            static_cast<std::size_t>(patches->grid_height) * static_cast<std::size_t>(patches->grid_width);
        if (!finite_stages(engine_->vision_session(), {"patch_embedding", "vision_layer_first", "vision_layer_last"},
                           patch_count))
            return false;
        internal::runtime::AnswerOptions options;
        options.max_new_tokens = kProbeTokens;
        options.sampler.repetition_penalty = engine_->package().generation.repetition_penalty;
        options.cancel = cancel_;
        internal::runtime::Request request;
        request.images.push_back(probe_picture());
        const std::string prompt = engine_->package().tasks.default_task().prompt;
        request.prompt = prompt;
        const auto answer = engine_->recognize(std::move(request), options);
        if (!answer) return failed("probe picture", answer.error());
        if (!finite_stages(engine_->decoder().session(), {"embedded", "decoder_layer_first", "decoder_layer_last"}, 1))
            return false;
        std::string ids;
        for (const std::int32_t id : answer->generated.ids) ids += (ids.empty() ? "" : ", ") + std::to_string(id);
        return passed("probe picture", "grid " + grid + ", " + std::to_string(tokens) +
                                           " visual tokens, finite values at every stage, first ids " + ids +
                                           (answer->generated.finish == internal::generate::Finish::stop
                                                ? (ids.empty() ? "none (stopped)" : " (stopped)")
                                                : ""));
    }

    fs::path folder_;
    internal::runtime::EngineOptions options_;
    const CancelToken* cancel_;
    CheckReport report_;
    model::Config config_;
    std::optional<internal::format::Checkpoint> checkpoint_;
    std::optional<model::Weights> weights_;
    std::unique_ptr<internal::runtime::Engine> engine_;
};

}  // namespace

bool CheckReport::passed() const {
    return !items.empty() && std::ranges::all_of(items, [](const CheckItem& item) { return item.passed; });
}

CheckReport check(const fs::path& model_dir, const RuntimeOptions& options, const CancelToken* cancel) {
    internal::runtime::require_stack("check");
    return Check(internal::runtime::resolve_model(model_dir), options, cancel).run();
}

}  // namespace hunyuan_ocr
