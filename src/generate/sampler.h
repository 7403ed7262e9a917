// Chooses the next token from logits: greedy, with the repetition penalty of the reference (Keskar et al. 2019).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace inkstone::generate {

// One per sequence: remembers which tokens have stood in the prompt and the answer.
class Sampler {
public:
    // repetition_penalty > 0; 1 changes nothing.
    Sampler(std::size_t vocabulary, float repetition_penalty);

    // Counts tokens as seen: the whole prompt (visual placeholders too, as the reference does) and each chosen token.
    void observe(std::span<const std::int32_t> ids);

    // The token of the highest score, the lowest id among equals. Scores of seen tokens are first divided by the
    // penalty if positive and multiplied by it if not; logits are changed in place. Errors: numeric (a NaN, with its
    // id, or no finite maximum).
    Result<std::int32_t> select(std::span<float> logits) const;

private:
    float penalty_;
    std::vector<std::uint8_t> seen_;      // by id
    std::vector<std::int32_t> seen_ids_;  // each once
};

}  // namespace inkstone::generate
