// Chooses the next token from logits: an ordered chain of small steps. Penalties change scores; then the highest is
// taken (greedy), or filters narrow down the candidates and one is drawn.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "generate/sampler/options.h"
#include "generate/sampler/step.h"

namespace inkstone::generate {

// One per sequence. A choice depends on the options, the logits and the ids before it alone, never on earlier calls:
// positions may be sampled again, in another order, or with candidates of a draft between them.
class Sampler {
public:
    // `options` are checked (check()). The first prompt_tokens of the ids are the prompt.
    Sampler(std::size_t vocabulary, const SamplerOptions& options, std::size_t prompt_tokens);

    // So that sampling after up to this many ids allocates nothing.
    void reserve(std::size_t tokens);

    // The token that follows `ids`, the whole sequence with all that was accepted so far: its position is ids.size().
    // logits: one score for each id of the vocabulary, changed in place. Greedy: the highest score, the lowest id among
    // equals. Errors: numeric (a NaN, with its id, or no finite maximum).
    Result<std::int32_t> sample(std::span<float> logits, std::span<const std::int32_t> ids);

private:
    std::uint64_t seed_;
    bool greedy_, counts_;
    Steps penalties_, filters_;
    SamplerState state_;
};

}  // namespace inkstone::generate
