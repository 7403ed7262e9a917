// config.json of a hunyuan_vl checkpoint, in the old style (text fields at the top, rope_scaling of type xdrope) or the
// new one (text_config, rope_parameters), and its companions generation_config.json and preprocessor_config.json.
// Values are data: any coherent sizes load.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/result.h"
#include "image/patches.h"

namespace inkstone::model::hunyuan_vl {

struct TextConfig {
    std::size_t hidden_size = 0, intermediate_size = 0;
    std::size_t num_hidden_layers = 0, num_attention_heads = 0, num_key_value_heads = 0, head_dim = 0;
    std::size_t vocab_size = 0, max_position_embeddings = 0;
    float rms_norm_eps = 0;
    double rope_theta = 0;
    double rope_alpha = 0;                   // 0: no NTK scaling
    std::vector<std::size_t> mrope_section;  // one entry per axis: sequence, width, height, image; sums to head_dim / 2
};

struct VisionConfig {
    std::size_t hidden_size = 0, intermediate_size = 0;
    std::size_t num_hidden_layers = 0, num_attention_heads = 0;
    std::size_t patch_size = 0, spatial_merge_size = 0, num_channels = 0;
    std::size_t position_edge = 0;  // max_image_size / patch_size: side of the position table
    float rms_norm_eps = 0;

    std::size_t head_dim() const { return hidden_size / num_attention_heads; }
};

struct Config {
    TextConfig text;
    VisionConfig vision;
    std::int32_t image_token_id = -1, image_start_token_id = -1, image_end_token_id = -1;
};

// Reads config.json. Errors: not_found, io, malformed (key, value, range), unsupported (another model_type, an
// activation or interpolation that the model does not have, untied embeddings), mismatch (sizes that do not fit each
// other).
Result<Config> read_config(const std::filesystem::path& folder);

// What generation does unless told otherwise.
struct GenerationDefaults {
    std::vector<std::int32_t> stop_ids;
    float repetition_penalty = 1;
    bool do_sample = false;
    float temperature = 1, top_p = 1, min_p = 0, typical_p = 1;  // of sampling
    std::size_t top_k = 0, no_repeat_ngram_size = 0;             // 0: off
    std::optional<std::int64_t> max_new_tokens;
};

// Reads generation_config.json; ids must lie inside the vocabulary. Without the file, or without stop ids in it, those
// of config.json hold. Errors: as read_config; not_found when neither names a stop id.
Result<GenerationDefaults> read_generation_defaults(const std::filesystem::path& folder, const Config& config);

// Reads preprocessor_config.json. Errors: as read_config; mismatch when patch or merge size is not the model's.
Result<image::Preprocessing> read_preprocessing(const std::filesystem::path& folder, const Config& config);

// Visual tokens of an image: (grid_height / merge) * (grid_width / merge + 1) + 2: a newline ends each row of merged
// patches, begin and end stand around them.
std::size_t visual_tokens(const Config& config, std::size_t grid_height, std::size_t grid_width);

}  // namespace inkstone::model::hunyuan_vl
