// The loop from a prompt to its answer: prefill, then propose, verify and commit until a stop rule ends it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "generate/repetition.h"
#include "generate/sampler/sampler.h"
#include "generate/sequence.h"
#include "generate/strategy.h"
#include "generate/target.h"

namespace inkstone::generate {

// Why an answer ended. docs/generation.md explains each.
enum class Finish : std::uint8_t { stop, length, repetition, context_full, cancelled, time_limit };

// How tokens are chosen, and when the answer ends.
struct GeneratorOptions : SamplerOptions {
    std::vector<std::int32_t> stop_ids;
    std::size_t max_new_tokens = 0;
    std::size_t context_length = 0;  // the most tokens of prompt and answer together
    // Asked after each token of the answer: when its tail counts as a loop. Nothing set: never.
    std::function<RepetitionLimits()> repetition_limits;
    // Looked at before a proposal is verified; the backend looks at its own while it computes.
    const std::atomic<bool>* cancel = nullptr;
    // Gets each token of the answer as it is chosen, stop tokens excepted; false ends the generation.
    std::function<bool(std::int32_t)> on_token;
    // Asked after on_token, and when the backend's work was cancelled: an end that the caller sees (a stop string, a
    // time limit). An answer that was cut by a cancelled step then is a result and no error.
    std::function<std::optional<Finish>()> ended;
    // After each chunk of the prompt: tokens done and in all.
    std::function<void(std::size_t, std::size_t)> on_prefill;
};

struct GeneratorResult {
    std::vector<std::int32_t> ids;  // the answer without its stop token; of a loop, one copy of its unit
    Finish finish = Finish::stop;
    std::int32_t last_token = -1;  // the last chosen, a stop token included
    double prefill_ms = 0, sample_ms = 0;
    double decode_ms = 0;  // the target's steps after the prefill
    double verify_ms = 0;  // those of them that had candidates
    double draft_ms = 0;   // the strategy
    // Steps of the target after the prefill, and what became of candidates. emitted: tokens of the answer as they were
    // chosen, before a loop is cut back to one copy. One comes from the prefill and each step adds its own, so emitted
    // = 1 + steps + accepted, less one when a stop token or an accepted candidate ended the answer.
    std::size_t steps = 0, proposed = 0, accepted = 0, emitted = 0;
    std::size_t withheld = 0;  // steps for which the strategy had candidates that would not have paid
};

// Answers the prompt that `sequence` holds. max_new_tokens = 0 gives an empty answer after the prefill. The sequence
// then holds prompt and answer, cached as far as they were needed; after an error, what was chosen before it.
// Errors: context_full (the prompt alone passes the context: both numbers), invalid_argument (check() of the sampler's
// options), out_of_memory, cancelled (options.cancel, or the backend's cancel token unless options.ended knows why),
// numeric, those of the strategy.
Result<GeneratorResult> generate(Target& target, Sequence& sequence, Strategy& strategy,
                                 const GeneratorOptions& options);

}  // namespace inkstone::generate
