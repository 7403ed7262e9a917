// Reading and checking of the configuration files.
#include "model/hunyuan_vl/config.h"

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "format/json.h"

namespace inkstone::model::hunyuan_vl {
namespace {

using format::Json;

// Bounds that no published model comes near; they keep products of sizes inside 64 bits.
constexpr std::int64_t kMaxWidth = 1 << 20;
constexpr std::int64_t kMaxLayers = 4096;
constexpr std::int64_t kMaxHeadDim = 256;        // what attention holds in registers and on its stack
constexpr std::int64_t kMaxPositions = 1 << 24;  // positions are exact as floats up to here
constexpr std::int64_t kMaxVocabulary = 1 << 24;

// The first of several spellings that is present.
std::string spelling(const Json& json, std::initializer_list<const char*> keys) {
    for (const char* key : keys)
        if (json.has(key)) return key;
    return *keys.begin();
}

Result<std::size_t> size(const Json& json, const std::string& key, std::int64_t max) {
    INKSTONE_TRY(const std::int64_t value, json.integer(key, 1, max));
    return static_cast<std::size_t>(value);
}

Status expect_text(const Json& json, const std::string& key, std::string_view expected) {
    INKSTONE_TRY(const std::string value, json.text_or(key, expected));
    if (value != expected)
        return json.error(ErrorCode::unsupported, key,
                          "is \"" + value + "\", expected \"" + std::string(expected) + "\"");
    return {};
}

Result<TextConfig> read_text(const Json& json) {
    TextConfig text;
    INKSTONE_TRY(text.hidden_size, size(json, "hidden_size", kMaxWidth));
    INKSTONE_TRY(text.intermediate_size, size(json, "intermediate_size", kMaxWidth));
    INKSTONE_TRY(text.num_hidden_layers, size(json, "num_hidden_layers", kMaxLayers));
    INKSTONE_TRY(text.num_attention_heads, size(json, "num_attention_heads", kMaxWidth));
    text.num_key_value_heads = text.num_attention_heads;
    if (json.has("num_key_value_heads")) {
        INKSTONE_TRY(text.num_key_value_heads, size(json, "num_key_value_heads", kMaxWidth));
    }
    if (const std::string key = spelling(json, {"head_dim", "attention_head_dim"}); json.has(key)) {
        INKSTONE_TRY(text.head_dim, size(json, key, kMaxHeadDim));
    } else {
        text.head_dim = text.hidden_size / text.num_attention_heads;
        if (text.hidden_size % text.num_attention_heads != 0 || text.head_dim > kMaxHeadDim)
            return json.error(ErrorCode::mismatch, "hidden_size",
                              "is " + std::to_string(text.hidden_size) + " for " +
                                  std::to_string(text.num_attention_heads) +
                                  " heads, expected a multiple with at most " + std::to_string(kMaxHeadDim) +
                                  " a head (or head_dim)");
    }
    INKSTONE_TRY(text.vocab_size, size(json, spelling(json, {"vocab_size", "org_vocab_size"}), kMaxVocabulary));
    INKSTONE_TRY(text.max_position_embeddings, size(json, "max_position_embeddings", kMaxPositions));
    INKSTONE_TRY(const double epsilon, json.number_or("rms_norm_eps", 1e-5, 0, 1));
    text.rms_norm_eps = static_cast<float>(epsilon);
    INKSTONE_CHECK(expect_text(json, "hidden_act", "silu"));
    INKSTONE_TRY(const bool bias, json.boolean_or("attention_bias", false));
    if (bias) return json.error(ErrorCode::unsupported, "attention_bias", "is true, expected false");
    INKSTONE_TRY(const bool head_norms, json.boolean_or("use_qk_norm", true));
    if (!head_norms) return json.error(ErrorCode::unsupported, "use_qk_norm", "is false, expected true");

    const std::string rope = spelling(json, {"rope_parameters", "rope_scaling"});
    INKSTONE_TRY(const std::string type,
                 json.text_or(rope + (json.has(rope + ".rope_type") ? ".rope_type" : ".type"), "default"));
    if (type != "xdrope" && type != "dynamic" && type != "default")
        return json.error(ErrorCode::unsupported, rope,
                          "has rope type \"" + type + "\", expected \"xdrope\", \"dynamic\" or \"default\"");
    const std::string theta = json.has(rope + ".rope_theta") ? rope + ".rope_theta" : "rope_theta";
    INKSTONE_TRY(text.rope_theta, json.number_or(theta, 10000.0, 1, 1e12));
    if (type != "default") {
        INKSTONE_TRY(text.rope_alpha, json.number(rope + ".alpha", 1e-6, 1e12));
    }
    const std::string section = json.has(rope + ".mrope_section") ? rope + ".mrope_section" : rope + ".xdrope_section";
    INKSTONE_TRY(const auto sections, json.integers(section, 0, kMaxHeadDim));
    std::size_t sum = 0;
    for (const std::int64_t value : sections) {
        text.mrope_section.push_back(static_cast<std::size_t>(value));
        sum += static_cast<std::size_t>(value);
    }
    if (sections.size() != 4)
        return json.error(ErrorCode::mismatch, section, "has " + std::to_string(sections.size()) + " axes, expected 4");
    if (text.head_dim % 2 != 0 || sum != text.head_dim / 2)
        return json.error(
            ErrorCode::mismatch, section,
            "sums to " + std::to_string(sum) + ", expected half of head_dim " + std::to_string(text.head_dim));
    if (text.num_attention_heads % text.num_key_value_heads != 0)
        return json.error(ErrorCode::mismatch, "num_attention_heads",
                          "is " + std::to_string(text.num_attention_heads) +
                              ", expected a multiple of num_key_value_heads " +
                              std::to_string(text.num_key_value_heads));
    return text;
}

Result<VisionConfig> read_vision(const Json& json, std::size_t text_hidden_size) {
    VisionConfig vision;
    INKSTONE_TRY(vision.hidden_size, size(json, "hidden_size", kMaxWidth));
    INKSTONE_TRY(vision.intermediate_size, size(json, "intermediate_size", kMaxWidth));
    INKSTONE_TRY(vision.num_hidden_layers, size(json, "num_hidden_layers", kMaxLayers));
    INKSTONE_TRY(vision.num_attention_heads, size(json, "num_attention_heads", kMaxWidth));
    INKSTONE_TRY(vision.patch_size, size(json, "patch_size", 1024));
    INKSTONE_TRY(vision.spatial_merge_size, size(json, "spatial_merge_size", 64));
    INKSTONE_TRY(const std::int64_t channels, json.integer_or("num_channels", 3, 1, 1024));
    vision.num_channels = static_cast<std::size_t>(channels);
    INKSTONE_TRY(const std::size_t max_image_size, size(json, "max_image_size", 1 << 16));
    vision.position_edge = max_image_size / vision.patch_size;
    INKSTONE_TRY(const double epsilon, json.number_or("rms_norm_eps", 1e-5, 0, 1));
    vision.rms_norm_eps = static_cast<float>(epsilon);
    INKSTONE_CHECK(expect_text(json, "hidden_act", "gelu"));
    INKSTONE_CHECK(expect_text(json, "interpolate_mode", "bilinear"));
    if (vision.num_channels != 3)
        return json.error(ErrorCode::unsupported, "num_channels",
                          "is " + std::to_string(vision.num_channels) + ", expected 3 (RGB)");
    INKSTONE_TRY(const std::int64_t temporal, json.integer_or("temporal_patch_size", 1));
    if (temporal != 1)
        return json.error(ErrorCode::unsupported, "temporal_patch_size",
                          "is " + std::to_string(temporal) + ", expected 1 (still pictures)");
    if (vision.hidden_size % vision.num_attention_heads != 0 ||
        vision.head_dim() > static_cast<std::size_t>(kMaxHeadDim))
        return json.error(ErrorCode::mismatch, "hidden_size",
                          "is " + std::to_string(vision.hidden_size) + " for " +
                              std::to_string(vision.num_attention_heads) + " heads, expected a multiple with at most " +
                              std::to_string(kMaxHeadDim) + " a head");
    if (vision.position_edge == 0)
        return json.error(
            ErrorCode::mismatch, "max_image_size",
            "is " + std::to_string(max_image_size) + ", less than patch_size " + std::to_string(vision.patch_size));
    // The official class sets the merger's output to the text width, whatever the file says; a file that says otherwise
    // belongs to another text model.
    for (const char* key : {"text_hidden_size", "out_hidden_size"}) {
        INKSTONE_TRY(const std::int64_t width, json.integer_or(key, static_cast<std::int64_t>(text_hidden_size)));
        if (width != static_cast<std::int64_t>(text_hidden_size))
            return json.error(ErrorCode::mismatch, key,
                              "is " + std::to_string(width) + ", expected the text model's hidden_size " +
                                  std::to_string(text_hidden_size));
    }
    return vision;
}

// A token id under any of these keys, inside the vocabulary.
Result<std::int32_t> token_id(const Json& json, std::initializer_list<const char*> keys, std::size_t vocab_size) {
    INKSTONE_TRY(const std::int64_t id,
                 json.integer(spelling(json, keys), 0, static_cast<std::int64_t>(vocab_size) - 1));
    return static_cast<std::int32_t>(id);
}

// One stop token or a list of them, inside the vocabulary.
Result<std::vector<std::int32_t>> stop_ids(const Json& json, const std::string& key, std::size_t vocab_size) {
    if (!json.list(key)) {
        INKSTONE_TRY(const std::int32_t id, token_id(json, {key.c_str()}, vocab_size));
        return std::vector{id};
    }
    INKSTONE_TRY(const auto ids, json.integers(key, 0, static_cast<std::int64_t>(vocab_size) - 1));
    if (ids.empty()) return json.error(ErrorCode::malformed, key, "is an empty list, expected at least one stop token");
    return std::vector<std::int32_t>(ids.begin(), ids.end());
}

// What every published preprocessor_config.json says and this program always does: colour, resized, samples divided by
// 255, normalised, one frame. `resample` is not looked at: the official class resizes bicubically whatever it says.
Status expect_fixed_steps(const Json& json) {
    for (const char* key : {"do_convert_rgb", "do_resize", "do_rescale", "do_normalize"}) {
        INKSTONE_TRY(const bool wanted, json.boolean_or(key, true));
        if (!wanted)
            return json.error(ErrorCode::unsupported, key, "is false, expected true, as every published model has it");
    }
    INKSTONE_TRY(const double factor, json.number_or("rescale_factor", 1.0 / 255));
    if (std::abs(factor * 255 - 1) > 1e-6)
        return json.error(ErrorCode::unsupported, "rescale_factor",
                          "is " + std::to_string(factor) + ", expected 1 / 255 = " + std::to_string(1.0 / 255));
    INKSTONE_TRY(const std::int64_t frames, json.integer_or("temporal_patch_size", 1));
    if (frames != 1)
        return json.error(ErrorCode::unsupported, "temporal_patch_size",
                          "is " + std::to_string(frames) + ", expected 1 (still pictures)");
    return {};
}

}  // namespace

Result<Config> read_config(const std::filesystem::path& folder) {
    INKSTONE_TRY(const Json json, Json::read(folder / "config.json"));
    INKSTONE_TRY(const std::string model_type, json.text("model_type"));
    if (model_type != "hunyuan_vl")
        return json.error(ErrorCode::unsupported, "model_type",
                          "is \"" + model_type + "\", expected \"hunyuan_vl\" (HunyuanOCR)");
    Config config;
    if (json.has("text_config")) {
        INKSTONE_TRY(const Json text, json.object("text_config"));
        INKSTONE_TRY(config.text, read_text(text));
    } else {
        INKSTONE_TRY(config.text, read_text(json));
    }
    INKSTONE_TRY(const Json vision, json.object("vision_config"));
    INKSTONE_TRY(config.vision, read_vision(vision, config.text.hidden_size));
    INKSTONE_TRY(const bool tied, json.boolean_or("tie_word_embeddings", true));
    if (!tied)
        return json.error(ErrorCode::unsupported, "tie_word_embeddings",
                          "is false, expected true (the head shares the embedding)");
    const std::size_t vocabulary = config.text.vocab_size;
    INKSTONE_TRY(config.image_token_id, token_id(json, {"image_token_id"}, vocabulary));
    INKSTONE_TRY(config.image_start_token_id, token_id(json, {"image_start_token_id", "im_start_id"}, vocabulary));
    INKSTONE_TRY(config.image_end_token_id, token_id(json, {"image_end_token_id", "im_end_id"}, vocabulary));
    return config;
}

Result<GenerationDefaults> read_generation_defaults(const std::filesystem::path& folder, const Config& config) {
    GenerationDefaults defaults;
    std::error_code ignored;
    // A link that leads nowhere (an incomplete hub cache) is a file that is missing, not a model without one.
    if (std::filesystem::exists(std::filesystem::symlink_status(folder / "generation_config.json", ignored))) {
        INKSTONE_TRY(const Json json, Json::read(folder / "generation_config.json"));
        INKSTONE_TRY(const double penalty, json.number_or("repetition_penalty", 1, 1e-3, 1e3));
        defaults.repetition_penalty = static_cast<float>(penalty);
        INKSTONE_TRY(defaults.do_sample, json.boolean_or("do_sample", false));
        struct Filter {
            const char* key;
            float* target;
            double least, most;
        };
        const Filter filters[] = {{"temperature", &defaults.temperature, 0, 100},
                                  {"top_p", &defaults.top_p, 1e-6, 1},
                                  {"min_p", &defaults.min_p, 0, 1},
                                  {"typical_p", &defaults.typical_p, 1e-6, 1}};
        for (const Filter& filter : filters) {
            INKSTONE_TRY(const double value, json.number_or(filter.key, *filter.target, filter.least, filter.most));
            *filter.target = static_cast<float>(value);
        }
        const std::pair<const char*, std::size_t*> counts[] = {
            {"top_k", &defaults.top_k}, {"no_repeat_ngram_size", &defaults.no_repeat_ngram_size}};
        for (const auto& [key, target] : counts) {
            INKSTONE_TRY(const std::int64_t value, json.integer_or(key, 0, -1, kMaxPositions));
            *target = value > 0 ? static_cast<std::size_t>(value) : 0;  // -1 is "off" too, as some write it
        }
        if (json.has("max_new_tokens")) {
            INKSTONE_TRY(defaults.max_new_tokens, json.integer("max_new_tokens", 1, kMaxPositions));
        }
        if (json.has("eos_token_id")) {
            INKSTONE_TRY(defaults.stop_ids, stop_ids(json, "eos_token_id", config.text.vocab_size));
            return defaults;
        }
    }
    INKSTONE_TRY(const Json json, Json::read(folder / "config.json"));
    INKSTONE_TRY(defaults.stop_ids,
                 stop_ids(json, spelling(json, {"eos_token_id", "text_config.eos_token_id"}), config.text.vocab_size));
    return defaults;
}

Result<image::Preprocessing> read_preprocessing(const std::filesystem::path& folder, const Config& config) {
    INKSTONE_TRY(const Json json, Json::read(folder / "preprocessor_config.json"));
    image::Preprocessing preprocessing;
    INKSTONE_TRY(const std::int64_t patch, json.integer("patch_size", 1, 1024));
    INKSTONE_TRY(const std::int64_t merge, json.integer("merge_size", 1, 64));
    const std::pair<const char*, std::pair<std::int64_t, std::size_t>> sizes[] = {
        {"patch_size", {patch, config.vision.patch_size}}, {"merge_size", {merge, config.vision.spatial_merge_size}}};
    for (const auto& [key, values] : sizes)
        if (values.first != static_cast<std::int64_t>(values.second))
            return json.error(ErrorCode::mismatch, key,
                              "is " + std::to_string(values.first) + ", expected " + std::to_string(values.second) +
                                  " as in config.json");
    INKSTONE_CHECK(expect_fixed_steps(json));
    preprocessing.patch_size = static_cast<int>(patch);
    preprocessing.merge_size = static_cast<int>(merge);
    const std::string least = spelling(json, {"min_pixels", "size.shortest_edge", "size.min_pixels"});
    const std::string most = spelling(json, {"max_pixels", "size.longest_edge", "size.max_pixels"});
    constexpr std::int64_t kMaxPixels = std::int64_t{1} << 40;
    INKSTONE_TRY(preprocessing.min_pixels, json.integer(least, 1, kMaxPixels));
    INKSTONE_TRY(preprocessing.max_pixels, json.integer(most, preprocessing.min_pixels, kMaxPixels));
    const std::pair<const char*, float*> channels[] = {{"image_mean", preprocessing.mean},
                                                       {"image_std", preprocessing.std}};
    for (const auto& [key, values] : channels) {
        INKSTONE_TRY(const auto numbers, json.numbers(key, -1e3, 1e3));
        if (numbers.size() != 3)
            return json.error(ErrorCode::mismatch, key,
                              "has " + std::to_string(numbers.size()) + " values, expected 3 (red, green, blue)");
        for (std::size_t i = 0; i < 3; ++i) values[i] = static_cast<float>(numbers[i]);
    }
    for (const float deviation : preprocessing.std)
        if (!(deviation > 0))
            return json.error(ErrorCode::malformed, "image_std",
                              "has the value " + std::to_string(deviation) + ", expected more than 0");
    return preprocessing;
}

std::size_t visual_tokens(const Config& config, std::size_t grid_height, std::size_t grid_width) {
    const std::size_t merge = config.vision.spatial_merge_size;
    return grid_height / merge * (grid_width / merge + 1) + 2;
}

}  // namespace inkstone::model::hunyuan_vl
