// A checkpoint folder read and checked: configuration, tokenizer, tasks and the mapped weights. What the engine is
// built from; nothing of it computes.
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"
#include "format/checkpoint.h"
#include "image/patches.h"
#include "model/hunyuan_vl/config.h"
#include "model/hunyuan_vl/prompt.h"
#include "model/hunyuan_vl/tasks.h"
#include "model/hunyuan_vl/weights.h"
#include "text/tokenizer.h"

namespace inkstone::runtime {

struct Package {
    model::hunyuan_vl::Config config;
    model::hunyuan_vl::GenerationDefaults generation;
    image::Preprocessing preprocessing;
    model::hunyuan_vl::Tasks tasks;
    text::Tokenizer tokenizer;
    model::hunyuan_vl::PromptFormat prompt_format;
    format::Checkpoint checkpoint;

    // Errors: those of every reader; mismatch when the tokenizer's largest id passes the model's vocabulary.
    static Result<Package> open(const std::filesystem::path& folder);
};

}  // namespace inkstone::runtime
