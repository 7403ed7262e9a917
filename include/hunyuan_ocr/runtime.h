// HunyuanOCR in one header: a picture in, its text out. Standard library only; what computes is hidden.
//
//     hunyuan_ocr::Runtime runtime("HunyuanOCR");
//     auto result = runtime.recognize(hunyuan_ocr::Image::file("page.png"), hunyuan_ocr::task("doc_parse"));
//     std::cout << result.text;
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if defined(_WIN32)
#define HUNYUAN_OCR_API
#else
#define HUNYUAN_OCR_API __attribute__((visibility("default")))
#endif

namespace hunyuan_ocr {

// What kind of failure an Error is. name_of gives the word that stands in JSON ("malformed").
enum class ErrorCode {
    invalid_argument,  // a value is out of range or mistyped
    not_found,         // a file, key, tensor or task is missing
    io,                // the operating system refused a read, write or map
    malformed,         // a file's content breaks its format
    mismatch,          // two things that must agree do not (shapes, counts, ids)
    unsupported,       // well formed, but not something this build can do
    out_of_memory,     // an allocation failed, or an estimate passes the limit
    context_full,      // more tokens than positions
    cancelled,         // the caller asked to stop
    numeric,           // a NaN or infinity where a number must be
    internal,          // a broken invariant of the library
};

HUNYUAN_OCR_API std::string_view name_of(ErrorCode code);

// Thrown by everything below that can fail. what() is "stage: subject: message".
class HUNYUAN_OCR_API Error : public std::runtime_error {
public:
    Error(ErrorCode code, std::string stage, std::string subject, std::string message);
    ErrorCode code() const noexcept { return code_; }
    const std::string& stage() const noexcept { return stage_; }      // "load weights", "decode image", ...
    const std::string& subject() const noexcept { return subject_; }  // the file, key or tensor
    const std::string& message() const noexcept { return message_; }  // found, expected, remedy

private:
    ErrorCode code_;
    std::string stage_, subject_, message_;
};

// Order of the channels of raw pixels, 8 bits each.
enum class PixelFormat { rgb, bgr, rgba, bgra, gray };

// One picture. Encoded bytes and pixels are borrowed for the length of the call that takes the image.
class HUNYUAN_OCR_API Image {
public:
    // The format is told from the file's bytes, whatever its name says.
    static Image file(std::filesystem::path path);
    static Image encoded(std::span<const std::byte> bytes);
    // Rows are stride_bytes apart (0: tightly packed).
    static Image pixels(const std::uint8_t* data, int width, int height, PixelFormat format = PixelFormat::rgb,
                        std::ptrdiff_t stride_bytes = 0);

    enum class Kind { file, encoded, pixels };
    Kind kind() const { return kind_; }
    const std::filesystem::path& path() const { return path_; }
    std::span<const std::byte> bytes() const { return bytes_; }
    const std::uint8_t* data() const { return data_; }
    int width() const { return width_; }
    int height() const { return height_; }
    PixelFormat format() const { return format_; }
    std::ptrdiff_t stride_bytes() const { return stride_bytes_; }

private:
    Image() = default;
    Kind kind_ = Kind::file;
    std::filesystem::path path_;
    std::span<const std::byte> bytes_;
    const std::uint8_t* data_ = nullptr;
    int width_ = 0, height_ = 0;
    PixelFormat format_ = PixelFormat::rgb;
    std::ptrdiff_t stride_bytes_ = 0;
};

// What is asked of the picture: a named task of the package, or a text of one's own. Default: the package's default
// task.
struct Prompt {
    std::string task;    // the name of a task; empty: `text`, or the default task when that is empty too
    std::string text;    // own words; special tokens in it are read as plain text
    std::string system;  // optional system text, put before the pictures
};

HUNYUAN_OCR_API Prompt task(std::string name);
HUNYUAN_OCR_API Prompt text(std::string prompt);

enum class Backend { cpu };
// f32: FP32 arithmetic, weights kept losslessly: follows the official implementation. bf16: weights, inputs of
// products, keys and values rounded to bfloat16, sums in FP32: faster, and other words where two are nearly equally
// likely. q8 and q4: weights of the decoder and the head in 8 or 4 bits, quantised when they are loaded, inputs of
// products in 8 bits: less memory, faster, and further from f32.
enum class Precision { f32, bf16, q8, q4 };
// Of each part; one precision stands for all of them, q8 and q4 for the decoder and the head, with bf16 elsewhere. kv:
// keys and values that the decoder keeps. Loading refuses q8 and q4 for vision and kv (ErrorCode::unsupported).
struct PartPrecisions {
    PartPrecisions(Precision all = Precision::f32)
        : vision(at_least_bf16(all)), decoder(all), head(all), kv(at_least_bf16(all)) {}
    Precision vision, decoder, head, kv;

private:
    static Precision at_least_bf16(Precision precision) {
        return precision == Precision::f32 ? precision : Precision::bf16;
    }
};
// How tokens are found; the text is the same with each. ar: one a step. lookahead: what followed the last time when
// prompt or answer ended in the same words is verified as a block, where that is expected to be faster; pays on tables
// and forms.
enum class Strategy { ar, lookahead };
// The most tokens that go through the model together when a draft is verified: the last known one and the drafted.
constexpr int kMaximumBlockSize = 16;
enum class InstructionSet {
    automatic,
    reference,
    portable,
    avx2,
    avx512,
    avx512_vnni,
    avx512_bf16
};  // automatic: the best this CPU has

// Asked between chunks of work; true stops the call with ErrorCode::cancelled. May be set from any thread or a signal.
using CancelToken = std::atomic<bool>;

// One step of the work, for a progress line. done and total are in units of the stage (layers, tokens, bytes).
struct Progress {
    std::string_view stage;  // "load", "vision", "prefill", "decode"
    std::int64_t done = 0, total = 0;
};
using OnProgress = std::function<void(const Progress&)>;

struct RuntimeOptions {
    Backend backend = Backend::cpu;
    PartPrecisions precision;
    Strategy strategy = Strategy::ar;
    int block_size = 0;  // of a strategy that drafts, 1 to kMaximumBlockSize; 0: the strategy's own
    InstructionSet instruction_set = InstructionSet::automatic;
    int threads = 0;                       // 0: physical cores
    std::int64_t min_pixels = 0;           // 0: the package's
    std::int64_t max_pixels = 0;           // 0: the package's, on the CPU at most kDefaultCpuMaxPixels
    std::uint64_t memory_limit_bytes = 0;  // 0: none; a page that needs more is refused before any work
    std::array<std::uint8_t, 3> background = {255, 255, 255};  // red, green, blue behind transparent pixels
    const CancelToken* cancel = nullptr;                       // of loading
    OnProgress on_progress;                                    // of loading
};

// On the CPU a page is reduced to this many pixels unless max_pixels asks for more: attention over a full A4 page at
// 300 dpi takes minutes there.
constexpr std::int64_t kDefaultCpuMaxPixels = 1024 * 1024;

// What a request needs, told before the work: the most bytes at one time, by purpose, and about how long it takes here.
struct Estimate {
    std::uint64_t weight_bytes = 0, cache_bytes = 0;  // cache: keys and values
    std::uint64_t activation_bytes = 0;               // of the decoder
    std::uint64_t vision_bytes = 0;                   // of a picture on its way to visual tokens
    std::uint64_t total_bytes() const { return weight_bytes + cache_bytes + activation_bytes + vision_bytes; }
    double vision_ms = 0, prefill_ms = 0;  // until the first token
    double token_ms = 0;                   // each further token
};
using OnEstimate = std::function<void(const Estimate&)>;

// The most tokens of an answer when neither GenerationOptions nor the package's generation_config.json says.
constexpr int kDefaultMaxNewTokens = 4096;

// Fields that are not set take the package's generation_config.json, then their neutral value: the answer is greedy.
// Values out of range are refused (invalid_argument). docs/generation.md defines each step.
struct GenerationOptions {
    std::optional<int> max_new_tokens;
    // true: tokens are drawn. Not set: when one of the values down to `typical` is set and the temperature is not 0,
    // else as the package says. false beside one of them is refused.
    std::optional<bool> do_sample;
    std::optional<float> temperature;   // 0 to 100; 0 is greedy
    std::optional<int> top_k;           // the k likeliest; 0: all
    std::optional<float> top_p;         // the likeliest that together have this probability; 1: all
    std::optional<float> min_p;         // those at least this share as likely as the likeliest; 0: all
    std::optional<float> tfs;           // tail free sampling; 1: off
    std::optional<float> typical;       // locally typical sampling; 1: off
    std::optional<std::uint64_t> seed;  // of the draws; not set: one of chance. Result::options has it
    // Penalties, of drawn and of greedy answers.
    std::optional<float> repetition_penalty;                 // over prompt and answer, 0.001 to 1000; 1: none
    float presence_penalty = 0;                              // over the answer, -100 to 100
    float frequency_penalty = 0;                             // the same, for each time that a token stands there
    std::optional<int> no_repeat_ngram_size;                 // no run of this many tokens twice; 0: off
    std::vector<std::pair<std::int32_t, float>> logit_bias;  // added to scores, by token id
    std::vector<std::int32_t> banned_ids;                    // never chosen
    // When the answer ends, beside the package's own end tokens.
    std::vector<std::string> stop;  // texts, not part of the answer; UTF-8, at most 64 of at most 1024 bytes
    double time_limit_seconds = 0;  // for the whole request; 0: none
    bool repetition_guard = true;   // end an answer whose tail is one unit over and over
    const CancelToken* cancel = nullptr;
    OnProgress on_progress;
    OnEstimate on_estimate;  // called once sizes are known, before the work; the first call measures some milliseconds
};

enum class FinishReason {
    stop,          // the model ended its answer, or a stop string came
    length,        // max_new_tokens reached: the answer may be cut
    repetition,    // the answer ran into a loop: one copy of what it repeated is kept
    context_full,  // no positions left: the answer may be cut
    cancelled,     // on_text returned false
    time_limit,    // time_limit_seconds are over: the answer may be cut
};
HUNYUAN_OCR_API std::string_view name_of(FinishReason reason);

// Sizes in pixels; the grid in patches.
struct ImageInfo {
    int width = 0, height = 0;                  // as displayed (after EXIF orientation)
    int resized_width = 0, resized_height = 0;  // as the model saw it
    int grid_width = 0, grid_height = 0;
    int visual_tokens = 0;
};

struct Point {
    int x = 0, y = 0;
};

// Edges, not rows and columns of pixels: right and bottom lie behind the last one.
struct Rectangle {
    int left = 0, top = 0, right = 0, bottom = 0;
};

// Where the model read something. The model prints numbers from 0 to 1000, whatever the size of the picture: those are
// the normalized ones, and they stand in Result::text too. To draw on the picture take the pixels: they are of the
// picture as displayed (after EXIF orientation; ImageInfo::width x height), not of the one that the model saw.
struct Box {
    std::string text;   // what stands there; may be empty
    std::string label;  // the kind of region ("title", "table") when the model names it
    Rectangle normalized;
    Rectangle pixels;
    // The corners of a region that is no upright rectangle, in the order of print; the rectangles are around them. Else
    // empty.
    std::vector<Point> normalized_corners, pixel_corners;
};

// Where generation stands (public generation state).
struct State {
    std::int64_t sequence_length = 0;  // tokens of prompt and answer
    std::int64_t position = 0;         // of the next token
    std::int32_t current_token = -1;   // the last chosen
    std::int64_t target_cache_length = 0;
    std::int64_t draft_cache_length = 0;
};

// Where the time went, in milliseconds, and what was counted. embed and lm_head are parts of prefill and decode; draft
// and verify are zero without a draft; verify is the part of decode that verified one.
struct Profile {
    double decode_image_ms = 0, preprocess_ms = 0, vision_ms = 0, embed_ms = 0, prefill_ms = 0, lm_head_ms = 0;
    double decode_ms = 0, draft_ms = 0, verify_ms = 0, sample_ms = 0, detokenize_ms = 0, total_ms = 0;
    std::int64_t prompt_tokens = 0, visual_tokens = 0, generated_tokens = 0;
    // Of the strategy: steps of the model after the prefill; tokens that it was offered, and that it took of them;
    // tokens chosen in all, before a loop is cut back to one copy. emitted = 1 + blocks + accepted, less one when a
    // stop token or a taken one ended the answer. withheld: steps with a draft that was not verified, as it would not
    // have paid.
    std::int64_t blocks = 0, proposed = 0, accepted = 0, emitted = 0, withheld = 0;
    std::string strategy;
    std::uint64_t weight_bytes = 0, cache_bytes = 0, activation_bytes = 0;
    std::string backend, instruction_set;  // what really ran
    // Storage and arithmetic of each part: "bf16 arithmetic, bf16 weights"; of kv the storage alone.
    std::string vision_precision, decoder_precision, head_precision, kv_precision;
    int threads = 0;
};

// What a result was made with: options, the package's values where there were none. With the same model, request and
// precision these give the same tokens again.
struct UsedOptions {
    int max_new_tokens = 0;
    bool do_sample = false;
    // Of drawn answers.
    float temperature = 1, top_p = 1, min_p = 0, tfs = 1, typical = 1;
    int top_k = 0;
    std::uint64_t seed = 0;
    // Of all.
    float repetition_penalty = 1, presence_penalty = 0, frequency_penalty = 0;
    int no_repeat_ngram_size = 0;
    std::vector<std::pair<std::int32_t, float>> logit_bias;
    std::vector<std::int32_t> banned_ids;
    std::vector<std::string> stop;
    double time_limit_seconds = 0;
    bool repetition_guard = true;
};

struct Result {
    std::string text;  // UTF-8, whole
    // Of the answer, without the end token that stopped it; a stop string's own tokens are among them, and not in text.
    std::vector<std::int32_t> tokens;
    FinishReason finish_reason = FinishReason::stop;
    ImageInfo image;                // of the first picture
    std::vector<ImageInfo> images;  // of each
    // In the order of print, of a request with one picture, when the task is one that asks for coordinates or the
    // prompt is the caller's own. Coordinates that no picture can have remain text.
    std::vector<Box> boxes;
    State state;
    Profile profile;
    UsedOptions options;
};

// Gets whole UTF-8 characters as they come; returning false ends the generation (FinishReason::cancelled).
using OnText = std::function<bool(std::string_view)>;

// A page of a batch: its result, or what went wrong with it.
struct BatchItem {
    std::optional<Result> result;
    std::optional<Error> error;
};

// The tasks that a model folder serves, the default first, without loading its weights. Throws Error.
HUNYUAN_OCR_API std::vector<std::string> tasks(const std::filesystem::path& model_dir);

// The stack that a thread must have left when it loads a runtime, reads a picture or checks a package. Main threads and
// std::thread have 8 MiB on most systems; some C libraries and thread pools give 128 KiB.
constexpr std::size_t kNeededStackBytes = std::size_t{256} << 10;

// A loaded model. Loading either gives a whole runtime or throws Error; there is no half-loaded state.
// The calling thread works too, and needs kNeededStackBytes of stack: with less, calls throw out_of_memory. The threads
// that the runtime starts have stacks of their own size.
// Safe to call from several threads: calls take turns, and each gets the ids it would get alone; a callback must not
// call its own runtime. A moved-from runtime can be assigned to and destroyed; its calls throw invalid_argument.
class HUNYUAN_OCR_API Runtime {
public:
    // model_dir: a checkpoint folder as published, or the name of one ("tencent/HunyuanOCR") that the Hugging Face
    // hub's cache on this machine holds; nothing is downloaded. Callbacks run on the thread that made the call. Throws
    // Error.
    explicit Runtime(const std::filesystem::path& model_dir, const RuntimeOptions& options = {});
    ~Runtime();
    Runtime(Runtime&&) noexcept;
    Runtime& operator=(Runtime&&) noexcept;

    // Image and prompt through vision and decoder, no generation: for timing and diagnosis. Throws Error.
    Profile prefill(const Image& image, const Prompt& prompt, const GenerationOptions& options = {});

    // Reads one picture. Throws Error; after an error the runtime is as before the call.
    Result recognize(const Image& image, const Prompt& prompt = {}, const GenerationOptions& options = {},
                     const OnText& on_text = {});

    // Reads several pictures as one request: they stand in order before the text. Throws Error.
    Result recognize(std::span<const Image> images, const Prompt& prompt = {}, const GenerationOptions& options = {},
                     const OnText& on_text = {});

    // Reads each picture with the same prompt; a page that fails does not end the others. Only cancelling throws.
    std::vector<BatchItem> recognize_batch(std::span<const Image> images, const Prompt& prompt = {},
                                           const GenerationOptions& options = {});

    // The tasks that the package serves: names in order, the default first.
    std::vector<std::string> tasks() const;
    // What loading took and what is resident, one line each, for --verbose.
    std::string load_report() const;
    // The largest pixel count that a page keeps here, and whether the default for the CPU lowered the package's.
    std::int64_t max_pixels() const;
    bool max_pixels_lowered() const;

private:
    struct Implementation;
    Implementation& implementation() const;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace hunyuan_ocr
