// Assembly of ids and xdRoPE positions.
#include "model/hunyuan_vl/prompt.h"

#include <string>

namespace inkstone::model::hunyuan_vl {
namespace {

constexpr std::size_t kAxes = 4;

Error prompt_error(ErrorCode code, std::string_view subject, std::string message) {
    return {code, "build prompt", std::string(subject), std::move(message)};
}

// A token of text stands at its place in the sequence on every axis.
void append(PromptTokens& prompt, std::int32_t id) {
    const auto position = static_cast<std::int32_t>(prompt.ids.size());
    prompt.ids.push_back(id);
    prompt.positions.insert(prompt.positions.end(), kAxes, position);
}

// The image's first and last token keep the sequence position; the grid tokens between them, row by row with a newline
// at each row's end, have axis 1 = column, axis 2 = row, axis 3 = ordinal of the image.
void append_image(PromptTokens& prompt, const Config& config, const ImageGrid& grid) {
    const std::size_t merge = config.vision.spatial_merge_size;
    const std::size_t lines = grid.height / merge, columns = grid.width / merge + 1;
    const auto ordinal = static_cast<std::int32_t>(prompt.image_offsets.size());
    append(prompt, config.image_start_token_id);
    prompt.image_offsets.push_back(prompt.ids.size());
    append(prompt, config.image_token_id);
    for (std::size_t line = 0; line < lines; ++line)
        for (std::size_t column = 0; column < columns; ++column) {
            append(prompt, config.image_token_id);
            std::int32_t* position = prompt.positions.data() + prompt.positions.size() - kAxes;
            position[1] = static_cast<std::int32_t>(column);
            position[2] = static_cast<std::int32_t>(line);
            position[3] = ordinal;
        }
    append(prompt, config.image_token_id);
    append(prompt, config.image_end_token_id);
}

}  // namespace

Result<PromptFormat> PromptFormat::of(const text::Tokenizer& tokenizer, const Config& config) {
    PromptFormat format;
    const std::pair<const char*, std::int32_t*> tokens[] = {
        {"<｜hy_begin▁of▁sentence｜>", &format.begin_of_sentence},
        {"<｜hy_place▁holder▁no▁3｜>", &format.system_end},
        {"<｜hy_User｜>", &format.user_end},
    };
    for (const auto& [name, id] : tokens) {
        const auto found = tokenizer.token_id(name);
        if (!found) return prompt_error(ErrorCode::not_found, name, "is not a token of the package's tokenizer.json");
        if (*found < 0 || static_cast<std::size_t>(*found) >= config.text.vocab_size)
            return prompt_error(ErrorCode::mismatch, name,
                                "has id " + std::to_string(*found) + ", expected less than vocab_size " +
                                    std::to_string(config.text.vocab_size));
        *id = *found;
    }
    const std::pair<const char*, std::int32_t> ids[] = {{"image_token_id", config.image_token_id},
                                                        {"image_start_token_id", config.image_start_token_id},
                                                        {"image_end_token_id", config.image_end_token_id}};
    for (const auto& [key, id] : ids)
        if (!tokenizer.is_special(id))
            return prompt_error(ErrorCode::mismatch, key,
                                "is " + std::to_string(id) +
                                    " in config.json, which is no special token of tokenizer.json; expected one: the "
                                    "two files are of different packages");
    return format;
}

Result<PromptTokens> build_prompt(const Config& config, const PromptFormat& format, const text::Tokenizer& tokenizer,
                                  std::string_view system, const std::vector<ImageGrid>& images,
                                  std::string_view prompt) {
    PromptTokens tokens;
    const auto append_text = [&](std::string_view text) -> Status {
        INKSTONE_TRY(const auto ids, tokenizer.encode(text, text::Specials::as_text));
        for (const std::int32_t id : ids) {
            if (id < 0 || static_cast<std::size_t>(id) >= config.text.vocab_size)
                return prompt_error(ErrorCode::mismatch, "tokenizer.json",
                                    "gives id " + std::to_string(id) + ", expected less than vocab_size " +
                                        std::to_string(config.text.vocab_size));
            append(tokens, id);
        }
        return {};
    };
    append(tokens, format.begin_of_sentence);
    if (!system.empty()) {
        INKSTONE_CHECK(append_text(system));
        append(tokens, format.system_end);
    }
    for (const ImageGrid& grid : images) append_image(tokens, config, grid);
    INKSTONE_CHECK(append_text(prompt));
    append(tokens, format.user_end);
    return tokens;
}

}  // namespace inkstone::model::hunyuan_vl
