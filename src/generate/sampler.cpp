// Penalty, then the maximum.
#include "generate/sampler.h"

#include <cassert>
#include <cmath>
#include <string>

namespace inkstone::generate {
namespace {

std::size_t first_nan(std::span<const float> logits) {
    std::size_t id = 0;
    while (!std::isnan(logits[id])) ++id;
    return id;
}

}  // namespace

Sampler::Sampler(std::size_t vocabulary, float repetition_penalty)
    : penalty_(repetition_penalty), seen_(vocabulary, 0) {
    assert(repetition_penalty > 0);
    seen_ids_.reserve(vocabulary);  // so that a step allocates nothing
}

void Sampler::observe(std::span<const std::int32_t> ids) {
    for (const std::int32_t id : ids) {
        std::uint8_t& seen = seen_[static_cast<std::size_t>(id)];
        if (seen == 0) seen_ids_.push_back(id);
        seen = 1;
    }
}

Result<std::int32_t> Sampler::select(std::span<float> logits) const {
    if (penalty_ != 1.0F)
        for (const std::int32_t id : seen_ids_) {
            float& score = logits[static_cast<std::size_t>(id)];
            score = score < 0 ? score * penalty_ : score / penalty_;
        }
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
                         : "have no finite maximum: weights or arithmetic overflowed; check the package's weights"};
    return static_cast<std::int32_t>(best);
}

}  // namespace inkstone::generate
