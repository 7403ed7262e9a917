// The chain: penalties, the maximum, and unless that is the choice filters and the draw.
#include "generate/sampler/sampler.h"

#include <cassert>
#include <cmath>
#include <string>

#include "generate/sampler/random.h"

namespace inkstone::generate {
namespace {

std::size_t first_nan(std::span<const float> logits) {
    std::size_t id = 0;
    while (!std::isnan(logits[id])) ++id;
    return id;
}

// The id of the highest score, the lowest among equals.
Result<std::size_t> highest(std::span<const float> logits) {
    std::size_t best = 0;
    bool nan = false;
    for (std::size_t id = 0; id < logits.size(); ++id) {
        nan |= std::isnan(logits[id]);
        if (logits[id] > logits[best]) best = id;
    }
    if (nan || logits.empty() || std::isinf(logits[best]))
        return Error{ErrorCode::numeric, "sample", "logits",
                     nan ? "hold a NaN at id " + std::to_string(first_nan(logits)) +
                               ": weights or arithmetic overflowed; check the package's weights"
                         : "have no finite maximum: weights or arithmetic overflowed (check the package's weights), or "
                           "banned_ids and no_repeat_ngram_size leave no id"};
    return best;
}

}  // namespace

Sampler::Sampler(std::size_t vocabulary, const SamplerOptions& options, std::size_t prompt_tokens)
    : seed_(options.seed),
      greedy_(options.greedy()),
      counts_(options.repetition_penalty != 1 || options.presence_penalty != 0 || options.frequency_penalty != 0),
      penalties_(penalties_of(options)),
      filters_(filters_of(options)) {
    assert(check(options, vocabulary).ok());
    if (counts_) state_.history = History(vocabulary, prompt_tokens);
    if (!greedy_) state_.candidates.reserve(vocabulary);
}

void Sampler::reserve(std::size_t tokens) {
    if (counts_) state_.history.reserve(tokens);
}

Result<std::int32_t> Sampler::sample(std::span<float> logits, std::span<const std::int32_t> ids) {
    state_.logits = logits;
    state_.ids = ids;
    if (counts_) state_.history.follow(ids);
    for (const auto& step : penalties_) step->apply(state_);
    INKSTONE_TRY(const std::size_t best, highest(logits));
    if (greedy_) return static_cast<std::int32_t>(best);
    state_.candidates.gather(logits, logits[best]);
    for (const auto& step : filters_) step->apply(state_);
    return state_.candidates.draw(uniform_at(seed_, ids.size()));
}

}  // namespace inkstone::generate
