// Reads --precision: one word for everything, or a word for each part. Used by options.cpp.
#pragma once

#include <string_view>
#include <variant>

#include "hunyuan_ocr/options.h"

namespace inkstone::app {

// "f32", "bf16", or parts between commas, "vision=bf16,kv=bf16"; parts that are not named stay f32. A refusal names the
// option, what was found and what fits.
std::variant<hunyuan_ocr::PartPrecisions, UsageError> parse_precision(std::string_view text);

}  // namespace inkstone::app
