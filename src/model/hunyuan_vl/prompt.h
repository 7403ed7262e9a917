// The prompt of a request as token ids with positions: where text and visual tokens stand in one sequence.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/hunyuan_vl/config.h"
#include "text/tokenizer.h"

namespace inkstone::model::hunyuan_vl {

// Grid of an image in patches.
struct ImageGrid {
    std::size_t height = 0, width = 0;
};

struct PromptTokens {
    std::vector<std::int32_t> ids;
    std::vector<std::int32_t> positions;     // [tokens, 4]: sequence, width, height, image ordinal
    std::vector<std::size_t> image_offsets;  // where each image's visual tokens begin
};

// The ids of the special tokens that frame a prompt, by their names in the package's tokenizer.
struct PromptFormat {
    std::int32_t begin_of_sentence = -1, system_end = -1, user_end = -1;

    // Errors: not_found (the token's name), mismatch (an id outside the model's vocabulary; an
    // image id of config.json that is no special token).
    static Result<PromptFormat> of(const text::Tokenizer& tokenizer, const Config& config);
};

// begin, (system text, its end), for each image (start, visual placeholders, end), the prompt's text, the user's end.
// Images stand before the text whatever the order of the request: the model was trained so. Text never yields special
// tokens. Errors: those of Tokenizer::encode; mismatch (an id outside the vocabulary).
Result<PromptTokens> build_prompt(const Config& config, const PromptFormat& format, const text::Tokenizer& tokenizer,
                                  std::string_view system, const std::vector<ImageGrid>& images,
                                  std::string_view prompt);

}  // namespace inkstone::model::hunyuan_vl
