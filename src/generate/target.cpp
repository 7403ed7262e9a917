// A prompt in chunks.
#include "generate/target.h"

#include <algorithm>
#include <cassert>

namespace inkstone::generate {

Status Target::prefill(Sequence& sequence, const std::function<void(std::size_t, std::size_t)>& on_chunk) {
    assert(sequence.size() > 0);
    // Logits come from a run alone: of a wholly cached sequence the last token runs again.
    sequence.set_cached(std::min(sequence.cached(), sequence.size() - 1));
    while (sequence.cached() < sequence.size()) {
        StepRows rows{&sequence, std::min(maximum_rows(), sequence.size() - sequence.cached()), 0};
        rows.logits = sequence.cached() + rows.tokens == sequence.size() ? 1 : 0;
        INKSTONE_CHECK(step({&rows, 1}));
        if (on_chunk) on_chunk(sequence.cached(), sequence.size());
    }
    return {};
}

}  // namespace inkstone::generate
