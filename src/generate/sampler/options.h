// What a sampler does, as data: one value for each step, neutral unless set. Made by runtime/ from the public options
// and the package's generation_config; read by Sampler alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace inkstone::generate {

struct SamplerOptions {
    bool do_sample = false;  // false: the highest score; what stands under "filters" is then not used
    std::uint64_t seed = 0;  // of the draws, see random.h

    // Penalties, of every choice, sampled or greedy.
    float repetition_penalty = 1;          // over prompt and answer; above 0, 1: none
    float presence_penalty = 0;            // taken once from scores of ids in the answer
    float frequency_penalty = 0;           // taken from them once for each time that the id stands there
    std::size_t no_repeat_ngram_size = 0;  // no run of this many ids occurs twice in prompt and answer; 0: off
    std::vector<std::pair<std::int32_t, float>> logit_bias;  // added to scores, by id
    std::vector<std::int32_t> banned_ids;                    // never chosen

    // Filters, in the order in which they are applied.
    float temperature = 1;  // scores are divided by it; 0: greedy
    std::size_t top_k = 0;  // the k likeliest; 0: all
    float top_p = 1;        // the likeliest that together have this probability; 1: all
    float min_p = 0;        // those at least this share as likely as the likeliest; 0: all
    float tfs = 1;          // tail free sampling; 1: off
    float typical = 1;      // locally typical sampling; 1: off

    bool greedy() const { return !do_sample || temperature == 0; }
};

// The nearest bounds of what check() takes.
constexpr float kMostTemperature = 100, kLeastRepetitionPenalty = 1e-3F, kMostRepetitionPenalty = 1e3F;
constexpr float kMostCountPenalty = 100;

// Errors: invalid_argument naming the field, what it is and what fits. Ids are compared with the vocabulary.
Status check(const SamplerOptions& options, std::size_t vocabulary);

// A sampler by name, as configurations of language models have it: which steps there are. greedy has none, mixed has
// all, penalty has the penalties and the temperature, each other has its one filter and the temperature.
enum class SamplerKind : std::uint8_t { greedy, temperature, top_k, top_p, min_p, tfs, typical, penalty, mixed };

// "greedy", "temperature", "topK", "topP", "minP", "tfs", "typical", "penalty", "mixed".
std::string_view name_of(SamplerKind kind);
std::optional<SamplerKind> sampler_kind(std::string_view name);

// `all` with every value made neutral that belongs to a step which the kind does not have. Bias and banned ids stay.
SamplerOptions of_kind(SamplerKind kind, const SamplerOptions& all);

}  // namespace inkstone::generate
