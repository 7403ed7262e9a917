// What generation asks of the model that has the last word: rows of sequences through it in one step, logits for those
// that are wanted. generate/decoder.h runs a real model; tests put a script in its place.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "base/result.h"
#include "generate/sequence.h"

namespace inkstone::generate {

// The next `tokens` uncached tokens of a sequence, and of how many of the last of them the logits are wanted.
struct StepRows {
    Sequence* sequence = nullptr;
    std::size_t tokens = 0;
    std::size_t logits = 0;
};

class Target {
public:
    virtual ~Target() = default;

    virtual std::size_t vocabulary() const = 0;
    // Most tokens of all sequences together in one step.
    virtual std::size_t maximum_rows() const = 0;

    // Makes room, so that steps of up to this many tokens and logits allocate nothing. Logits of earlier steps are
    // gone. Errors: out_of_memory.
    virtual Status reserve(std::size_t tokens, std::size_t logits) = 0;

    // Runs the rows and caches their keys and values; sequences are distinct, rows at most maximum_rows() together.
    // Allocates nothing once its sequences have room (Sequence::reserve). After an error no sequence has changed.
    // Errors: out_of_memory, cancelled.
    virtual Status step(std::span<const StepRows> batch) = 0;

    // Logits of the last step: rows in the order of the batch. May be changed in place. Valid until the next step.
    virtual std::span<float> logits(std::size_t row) = 0;

    // Caches all tokens of a sequence (at least one) in chunks; logits(0) are then those of the last token, which runs
    // again when it was cached already. on_chunk(done, total) is called after each chunk. Errors: as step.
    Status prefill(Sequence& sequence, const std::function<void(std::size_t, std::size_t)>& on_chunk = {});
};

}  // namespace inkstone::generate
