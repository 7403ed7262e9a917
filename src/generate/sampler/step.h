// The state that the steps of a sampler pass on, and what a step is. penalties.h has those that change scores,
// filters.h those that narrow down the candidates.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "generate/sampler/candidates.h"
#include "generate/sampler/history.h"
#include "generate/sampler/options.h"

namespace inkstone::generate {

struct SamplerState {
    std::span<float> logits;            // by id; changed by penalties, then gathered into candidates
    std::span<const std::int32_t> ids;  // the sequence up to the position that is chosen for
    History history;                    // follows ids when a penalty counts; else empty
    Candidates candidates;              // of filters and the draw
};

// A step holds no state of its own: a chain may be applied to the positions of a sequence in any order.
class Step {
public:
    virtual ~Step() = default;
    virtual void apply(SamplerState& state) const = 0;
};

using Steps = std::vector<std::unique_ptr<const Step>>;

// The steps of the options in their order; a step whose value is neutral is left out. Options are checked.
Steps penalties_of(const SamplerOptions& options);
Steps filters_of(const SamplerOptions& options);

}  // namespace inkstone::generate
