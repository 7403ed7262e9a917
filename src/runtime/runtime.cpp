// The public face: converts options and results, turns errors into exceptions, serialises calls.
#include "hunyuan_ocr/runtime.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <mutex>
#include <new>
#include <utility>

#include "base/deadline.h"
#include "document/boxes.h"
#include "image/decode.h"
#include "runtime/engine.h"
#include "runtime/generation_options.h"
#include "runtime/options.h"

namespace hunyuan_ocr {
namespace {

namespace internal = inkstone;

// Both enums have the same members in the same order.
static_assert(static_cast<int>(ErrorCode::internal) == static_cast<int>(internal::ErrorCode::internal));
static_assert(static_cast<int>(FinishReason::cancelled) == static_cast<int>(internal::generate::Finish::cancelled));
static_assert(static_cast<int>(FinishReason::time_limit) == static_cast<int>(internal::generate::Finish::time_limit));
static_assert(static_cast<int>(PixelFormat::gray) == static_cast<int>(internal::image::PixelFormat::gray));

double now_ms() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

using internal::runtime::value_or_throw;

// `decoded_bytes` of other pictures are held meanwhile.
internal::image::Image decode(const Image& image, internal::image::DecodeOptions options,
                              const internal::runtime::Engine& engine, std::uint64_t decoded_bytes,
                              const CancelToken* cancel) {
    options.cancel = cancel;
    options.admit = [&](const internal::image::DecodeDemand& demand) {
        return engine.admit_picture(demand, decoded_bytes);
    };
    switch (image.kind()) {
        case Image::Kind::file:
            return value_or_throw(internal::image::decode_file(image.path(), options));
        case Image::Kind::encoded:
            return value_or_throw(internal::image::decode(image.bytes(), "image", options));
        case Image::Kind::pixels:
            break;
    }
    const std::ptrdiff_t channels = image.format() == PixelFormat::gray                                        ? 1
                                    : image.format() == PixelFormat::rgb || image.format() == PixelFormat::bgr ? 3
                                                                                                               : 4;
    if (image.width() > 0 && image.height() > 0) {
        const auto admitted = options.admit(
            {static_cast<std::uint64_t>(image.width()), static_cast<std::uint64_t>(image.height()), 0, 0});
        if (!admitted) internal::runtime::raise(admitted.error());
    }
    const std::ptrdiff_t stride = image.stride_bytes() != 0 ? image.stride_bytes() : image.width() * channels;
    return value_or_throw(internal::image::from_pixels(image.data(), image.width(), image.height(), stride,
                                                       static_cast<internal::image::PixelFormat>(image.format()),
                                                       options.background, cancel));
}

ImageInfo image_info(const internal::image::Patches& patches, int merge) {
    ImageInfo info;
    info.width = patches.source_width;
    info.height = patches.source_height;
    info.resized_width = patches.resized_width;
    info.resized_height = patches.resized_height;
    info.grid_width = patches.grid_width;
    info.grid_height = patches.grid_height;
    info.visual_tokens = patches.grid_height / merge * (patches.grid_width / merge + 1) + 2;
    return info;
}

std::vector<Box> boxes_of(std::string_view text, const ImageInfo& image) {
    const auto point = [](const internal::document::Point& from) { return Point{from.x, from.y}; };
    const auto rectangle = [](const internal::document::Rectangle& from) {
        return Rectangle{from.left, from.top, from.right, from.bottom};
    };
    std::vector<Box> boxes;
    for (auto& found : internal::document::parse_boxes(text, image.width, image.height)) {
        Box& box = boxes.emplace_back();
        box.text = std::move(found.text);
        box.label = std::move(found.label);
        box.normalized = rectangle(found.normalized);
        box.pixels = rectangle(found.pixels);
        std::ranges::transform(found.normalized_corners, std::back_inserter(box.normalized_corners), point);
        std::ranges::transform(found.pixel_corners, std::back_inserter(box.pixel_corners), point);
    }
    return boxes;
}

}  // namespace

std::string_view name_of(ErrorCode code) { return internal::name_of(static_cast<internal::ErrorCode>(code)); }

std::string_view name_of(FinishReason reason) {
    switch (reason) {
        case FinishReason::stop:
            return "stop";
        case FinishReason::length:
            return "length";
        case FinishReason::repetition:
            return "repetition";
        case FinishReason::context_full:
            return "context_full";
        case FinishReason::cancelled:
            return "cancelled";
        case FinishReason::time_limit:
            return "time_limit";
    }
    return "stop";
}

Error::Error(ErrorCode code, std::string stage, std::string subject, std::string message)
    : std::runtime_error(internal::Error{static_cast<internal::ErrorCode>(code), stage, subject, message}.text()),
      code_(code),
      stage_(std::move(stage)),
      subject_(std::move(subject)),
      message_(std::move(message)) {}

Image Image::file(std::filesystem::path path) {
    Image image;
    image.kind_ = Kind::file;
    image.path_ = std::move(path);
    return image;
}

Image Image::encoded(std::span<const std::byte> bytes) {
    Image image;
    image.kind_ = Kind::encoded;
    image.bytes_ = bytes;
    return image;
}

Image Image::pixels(const std::uint8_t* data, int width, int height, PixelFormat format, std::ptrdiff_t stride_bytes) {
    Image image;
    image.kind_ = Kind::pixels;
    image.data_ = data;
    image.width_ = width;
    image.height_ = height;
    image.format_ = format;
    image.stride_bytes_ = stride_bytes;
    return image;
}

Prompt task(std::string name) { return {std::move(name), {}, {}}; }

Prompt text(std::string prompt) { return {{}, std::move(prompt), {}}; }

struct Runtime::Implementation {
    internal::image::DecodeOptions decode_options;
    std::mutex mutex;  // the engine serves one call at a time
    std::unique_ptr<internal::runtime::Engine> engine;

    // The words to ask with: a task's, the caller's own, or the default task's.
    std::string_view prompt_text(const Prompt& prompt) const {
        const auto& tasks = engine->package().tasks;
        if (!prompt.task.empty() && !prompt.text.empty())
            throw Error(ErrorCode::invalid_argument, "choose task", prompt.task,
                        "stands beside a prompt text; expected one of the two");
        if (!prompt.task.empty()) return value_or_throw(tasks.prompt(prompt.task));
        return prompt.text.empty() ? std::string_view(tasks.default_task().prompt) : std::string_view(prompt.text);
    }

    Result run(std::span<const Image> images, const Prompt& prompt, const GenerationOptions& options,
               const OnText& on_text);
    internal::runtime::AnswerOptions answer_options(const GenerationOptions& options) const;
    Profile profile(const internal::runtime::Answer& answer, double decode_image_ms, double total_ms) const;
};

internal::runtime::AnswerOptions Runtime::Implementation::answer_options(const GenerationOptions& options) const {
    const internal::runtime::Package& package = engine->package();
    internal::runtime::AnswerOptions answer =
        internal::runtime::answer_options(options, package.generation, package.config.text.vocab_size);
    if (options.on_estimate)
        answer.on_estimate = [&options](const internal::runtime::MemoryEstimate& memory,
                                        const internal::runtime::TimeEstimate& time) {
            options.on_estimate({memory.weights, memory.cache, memory.activations, memory.vision, time.vision_ms,
                                 time.prefill_ms, time.token_ms});
        };
    if (options.on_progress)
        answer.on_progress = [&options](std::string_view stage, std::int64_t done, std::int64_t total) {
            options.on_progress({stage, done, total});
        };
    return answer;
}

Profile Runtime::Implementation::profile(const internal::runtime::Answer& answer, double decode_image_ms,
                                         double total_ms) const {
    Profile profile;
    profile.decode_image_ms = decode_image_ms;
    profile.preprocess_ms = answer.timing.preprocess_ms;
    profile.vision_ms = answer.timing.vision_ms;
    profile.embed_ms = answer.timing.embed_ms;
    profile.prefill_ms = answer.timing.prefill_ms;
    profile.lm_head_ms = answer.timing.lm_head_ms;
    profile.decode_ms = answer.timing.decode_ms;
    profile.draft_ms = answer.generated.draft_ms;
    profile.verify_ms = answer.generated.verify_ms;
    profile.sample_ms = answer.timing.sample_ms;
    profile.detokenize_ms = answer.timing.detokenize_ms;
    profile.total_ms = total_ms;
    profile.prompt_tokens = static_cast<std::int64_t>(answer.prompt_tokens);
    profile.visual_tokens = static_cast<std::int64_t>(answer.visual_tokens);
    profile.generated_tokens = static_cast<std::int64_t>(answer.generated.ids.size());
    profile.blocks = static_cast<std::int64_t>(answer.generated.steps);
    profile.proposed = static_cast<std::int64_t>(answer.generated.proposed);
    profile.accepted = static_cast<std::int64_t>(answer.generated.accepted);
    profile.emitted = static_cast<std::int64_t>(answer.generated.emitted);
    profile.withheld = static_cast<std::int64_t>(answer.generated.withheld);
    profile.strategy = engine->strategy();
    profile.weight_bytes = engine->weight_bytes();
    profile.cache_bytes = engine->cache_bytes();
    profile.activation_bytes = engine->activation_bytes();
    profile.backend = engine->backend().name();
    profile.instruction_set = engine->backend().instruction_set();
    internal::runtime::PartReport precision = engine->precision_report();
    profile.vision_precision = std::move(precision.vision);
    profile.decoder_precision = std::move(precision.decoder);
    profile.head_precision = std::move(precision.head);
    profile.kv_precision = std::move(precision.kv);
    profile.threads = engine->backend().threads();
    return profile;
}

Result Runtime::Implementation::run(std::span<const Image> images, const Prompt& prompt,
                                    const GenerationOptions& options, const OnText& on_text) try {
    internal::runtime::require_stack("recognize");
    const std::lock_guard lock(mutex);
    const double start = now_ms();
    internal::runtime::AnswerOptions answer_with = answer_options(options);
    std::optional<internal::Deadline> deadline;
    if (options.time_limit_seconds > 0) {
        deadline.emplace(std::chrono::duration<double>(options.time_limit_seconds));
        answer_with.expired = &deadline->passed();
    }
    answer_with.on_text = on_text;
    internal::runtime::Request request;
    request.system = prompt.system;
    request.prompt = prompt_text(prompt);
    engine->release_kept_memory();
    std::uint64_t decoded_bytes = 0;
    for (const Image& image : images) {
        request.images.push_back(decode(image, decode_options, *engine, decoded_bytes, options.cancel));
        decoded_bytes += request.images.back().pixels.size();
    }
    const double decode_image_ms = now_ms() - start;
    const bool with_boxes = images.size() == 1 && engine->package().tasks.prints_boxes(request.prompt);
    auto answer = value_or_throw(engine->recognize(std::move(request), answer_with));

    Result result;
    for (const auto& image : answer.images)
        result.images.push_back(image_info(image, engine->package().preprocessing.merge_size));
    if (!result.images.empty()) result.image = result.images.front();
    result.state.sequence_length = static_cast<std::int64_t>(answer.sequence_length);
    result.state.position = static_cast<std::int64_t>(answer.sequence_length);
    result.state.current_token = answer.generated.last_token;
    result.state.target_cache_length = static_cast<std::int64_t>(answer.cache_length);
    result.finish_reason = static_cast<FinishReason>(answer.generated.finish);
    result.options = internal::runtime::used_options(answer_with, options.time_limit_seconds);
    result.profile = profile(answer, decode_image_ms, now_ms() - start);
    result.tokens = std::move(answer.generated.ids);
    result.text = std::move(answer.text);
    if (with_boxes) result.boxes = boxes_of(result.text, result.image);
    return result;
} catch (const std::bad_alloc&) {
    throw Error(ErrorCode::out_of_memory, "recognize", "request", "the system has no memory for it; lower max_pixels");
}

Runtime::Runtime(const std::filesystem::path& model_dir, const RuntimeOptions& options)
    : implementation_(std::make_unique<Implementation>()) {
    internal::runtime::require_stack("load");
    implementation_->decode_options.background = options.background;
    implementation_->engine = value_or_throw(internal::runtime::Engine::load(
        internal::runtime::resolve_model(model_dir), internal::runtime::engine_options(options)));
}

Runtime::~Runtime() = default;
Runtime::Runtime(Runtime&&) noexcept = default;
Runtime& Runtime::operator=(Runtime&&) noexcept = default;

Runtime::Implementation& Runtime::implementation() const {
    if (!implementation_)
        throw Error(ErrorCode::invalid_argument, "use runtime", "runtime", "was moved from; use the one it went into");
    return *implementation_;
}

Profile Runtime::prefill(const Image& image, const Prompt& prompt, const GenerationOptions& options) {
    GenerationOptions none = options;
    none.max_new_tokens = 0;
    return implementation().run({&image, 1}, prompt, none, {}).profile;
}

Result Runtime::recognize(const Image& image, const Prompt& prompt, const GenerationOptions& options,
                          const OnText& on_text) {
    return implementation().run({&image, 1}, prompt, options, on_text);
}

Result Runtime::recognize(std::span<const Image> images, const Prompt& prompt, const GenerationOptions& options,
                          const OnText& on_text) {
    return implementation().run(images, prompt, options, on_text);
}

std::vector<BatchItem> Runtime::recognize_batch(std::span<const Image> images, const Prompt& prompt,
                                                const GenerationOptions& options) {
    std::vector<BatchItem> items;
    for (const Image& image : images) {
        BatchItem item;
        try {
            item.result = recognize(image, prompt, options);
        } catch (const Error& error) {
            if (error.code() == ErrorCode::cancelled) throw;
            item.error = error;
        }
        items.push_back(std::move(item));
    }
    return items;
}

std::vector<std::string> Runtime::tasks() const {
    std::vector<std::string> names;
    for (const auto& task : implementation().engine->package().tasks.all()) names.push_back(task.name);
    return names;
}

std::vector<std::string> tasks(const std::filesystem::path& model_dir) {
    std::vector<std::string> names;
    const auto folder = internal::runtime::resolve_model(model_dir);
    std::error_code error;
    if (!std::filesystem::is_directory(folder, error))
        throw Error(ErrorCode::not_found, "choose task", folder.string(),
                    "is not a folder; expected a checkpoint folder with config.json and model.safetensors");
    const auto served = value_or_throw(internal::model::hunyuan_vl::Tasks::read(folder));
    for (const auto& task : served.all()) names.push_back(task.name);
    return names;
}

std::string Runtime::load_report() const {
    const auto& engine = *implementation().engine;
    const auto mebibytes = [](std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
    return "loaded in " + std::to_string(static_cast<int>(engine.load_ms())) + " ms\n" + "vision weights " +
           mebibytes(engine.vision_weights().bytes()) + " (" + engine.vision_weights().formats() + ")\n" +
           "decoder and head weights " + mebibytes(engine.text_weights().bytes()) + " (" +
           engine.text_weights().formats() + ")\n";
}

std::int64_t Runtime::max_pixels() const { return implementation().engine->max_pixels(); }

bool Runtime::max_pixels_lowered() const { return implementation().engine->max_pixels_lowered(); }

}  // namespace hunyuan_ocr
