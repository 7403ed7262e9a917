// Writes results and failures as JSON; the keys are the names of the public structs' fields.
#include "hunyuan_ocr/record.h"

#include <charconv>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace inkstone::app {
namespace {

using Json = nlohmann::ordered_json;

std::string line_of(const Json& object) { return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json image_json(const hunyuan_ocr::ImageInfo& image) {
    return {{"width", image.width},
            {"height", image.height},
            {"resized_width", image.resized_width},
            {"resized_height", image.resized_height},
            {"grid", Json::array({image.grid_height, image.grid_width})},
            {"visual_tokens", image.visual_tokens}};
}

Json rectangle_json(const hunyuan_ocr::Rectangle& rectangle) {
    return Json::array({rectangle.left, rectangle.top, rectangle.right, rectangle.bottom});
}

Json corners_json(const std::vector<hunyuan_ocr::Point>& corners) {
    Json list = Json::array();
    for (const hunyuan_ocr::Point& corner : corners) list.push_back(Json::array({corner.x, corner.y}));
    return list;
}

// Keys that say nothing about most boxes are left out of those.
Json box_json(const hunyuan_ocr::Box& box) {
    Json object = {{"text", box.text}};
    if (!box.label.empty()) object["label"] = box.label;
    object["normalized"] = rectangle_json(box.normalized);
    object["pixels"] = rectangle_json(box.pixels);
    if (!box.normalized_corners.empty()) {
        object["normalized_corners"] = corners_json(box.normalized_corners);
        object["pixel_corners"] = corners_json(box.pixel_corners);
    }
    return object;
}

Json profile_json(const hunyuan_ocr::Profile& profile) {
    return {{"decode_image_ms", profile.decode_image_ms},
            {"preprocess_ms", profile.preprocess_ms},
            {"vision_ms", profile.vision_ms},
            {"embed_ms", profile.embed_ms},
            {"prefill_ms", profile.prefill_ms},
            {"lm_head_ms", profile.lm_head_ms},
            {"decode_ms", profile.decode_ms},
            {"draft_ms", profile.draft_ms},
            {"verify_ms", profile.verify_ms},
            {"sample_ms", profile.sample_ms},
            {"detokenize_ms", profile.detokenize_ms},
            {"total_ms", profile.total_ms},
            {"prompt_tokens", profile.prompt_tokens},
            {"visual_tokens", profile.visual_tokens},
            {"generated_tokens", profile.generated_tokens},
            {"blocks", profile.blocks},
            {"proposed", profile.proposed},
            {"accepted", profile.accepted},
            {"emitted", profile.emitted},
            {"withheld", profile.withheld},
            {"strategy", profile.strategy},
            {"weight_bytes", profile.weight_bytes},
            {"cache_bytes", profile.cache_bytes},
            {"activation_bytes", profile.activation_bytes},
            {"backend", profile.backend},
            {"instruction_set", profile.instruction_set},
            {"vision_precision", profile.vision_precision},
            {"decoder_precision", profile.decoder_precision},
            {"head_precision", profile.head_precision},
            {"kv_precision", profile.kv_precision},
            {"threads", profile.threads}};
}

Json state_json(const hunyuan_ocr::State& state) {
    return {{"sequence_length", state.sequence_length},
            {"position", state.position},
            {"current_token", state.current_token},
            {"target_cache_length", state.target_cache_length},
            {"draft_cache_length", state.draft_cache_length}};
}

// A float as the shortest decimal number that is that float: 0.7, not 0.699999988.
double shortest(float value) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    double number = 0;
    std::from_chars(text, end, number);
    return number;
}

// What the answer was made with; values that a greedy answer has no use for are left out.
Json options_json(const hunyuan_ocr::UsedOptions& options) {
    Json object = {{"max_new_tokens", options.max_new_tokens}, {"do_sample", options.do_sample}};
    if (options.do_sample) {
        object["temperature"] = shortest(options.temperature);
        object["top_k"] = options.top_k;
        object["top_p"] = shortest(options.top_p);
        object["min_p"] = shortest(options.min_p);
        object["tfs"] = shortest(options.tfs);
        object["typical"] = shortest(options.typical);
        object["seed"] = options.seed;
    }
    object["repetition_penalty"] = shortest(options.repetition_penalty);
    object["presence_penalty"] = shortest(options.presence_penalty);
    object["frequency_penalty"] = shortest(options.frequency_penalty);
    object["no_repeat_ngram_size"] = options.no_repeat_ngram_size;
    for (const auto& [id, bias] : options.logit_bias) object["logit_bias"][std::to_string(id)] = shortest(bias);
    if (!options.banned_ids.empty()) object["banned_ids"] = options.banned_ids;
    if (!options.stop.empty()) object["stop"] = options.stop;
    if (options.time_limit_seconds > 0) object["time_limit"] = options.time_limit_seconds;
    object["repetition_guard"] = options.repetition_guard;
    return object;
}

}  // namespace

std::string to_json_line(const std::string& file, const hunyuan_ocr::Result& result) {
    Json record = {{"file", file},
                   {"text", result.text},
                   {"tokens", result.tokens},
                   {"finish_reason", name_of(result.finish_reason)},
                   {"image", image_json(result.image)}};
    for (const hunyuan_ocr::Box& box : result.boxes) record["boxes"].push_back(box_json(box));
    record["options"] = options_json(result.options);
    record["profile"] = profile_json(result.profile);
    record["state"] = state_json(result.state);
    return line_of(record);
}

std::string to_json_line(const std::string& file, const hunyuan_ocr::Error& error) {
    return line_of({{"file", file},
                    {"error",
                     {{"code", name_of(error.code())},
                      {"stage", error.stage()},
                      {"subject", error.subject()},
                      {"message", error.message()}}}});
}

std::string to_json_line(const std::string& model, const hunyuan_ocr::CheckReport& report) {
    Json items = Json::array();
    for (const hunyuan_ocr::CheckItem& item : report.items)
        items.push_back({{"name", item.name}, {"passed", item.passed}, {"detail", item.detail}});
    return line_of({{"model", model},
                    {"passed", report.passed()},
                    {"items", std::move(items)},
                    {"version", report.version},
                    {"fingerprint", report.fingerprint},
                    {"memory_bytes", report.memory_bytes}});
}

}  // namespace inkstone::app
