// How the next tokens are found: a strategy proposes candidates, the generator verifies them with the target model in
// one step and commits those that the target itself would have chosen. A wrong proposal costs time, never a token.
//
// For each answer: begin, cached after every chunk of the prompt, then in turn propose, cached, committed.
//
// A draft model is a strategy too. Hidden features of the target that it reads are taps of the target's session
// (Decoder::create); in cached() row i of a tap belongs to token first + i. Keys and values of its own are further
// layers of the sequence's pages, so that cropping the sequence crops them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "generate/sequence.h"

namespace inkstone::generate {

// Rows that one verification has at most: the last known token and the candidates after it. It is a bucket of rows of
// the session, and up to here one row costs little beside the weights that all rows share.
constexpr std::size_t kMaximumBlock = 16;

// What the target made of a proposal.
struct Verification {
    std::size_t proposed = 0;
    std::size_t accepted = 0;  // of the proposed, from the first on
    double step_ms = 0;        // the target's step over 1 + proposed rows
};

class Strategy {
public:
    virtual ~Strategy() = default;
    virtual std::string_view name() const = 0;
    // Most rows of a verification that it asks for, 1 to kMaximumBlock.
    virtual std::size_t block_size() const { return 1; }
    // A new answer, and how many tokens are made room for: nothing of an earlier sequence is used any more.
    virtual void begin(const Sequence& sequence, std::size_t capacity) = 0;
    // The target's last step cached the tokens from `first` on, `rows` of them, and they stay. Of a prompt that was
    // cached in part, only the later tokens are told.
    virtual void cached(const Sequence& sequence, std::size_t first, std::size_t rows) = 0;
    // Candidates for the tokens that follow the sequence's last (chosen, not yet cached) token: at most `limit`,
    // written to `candidates`, which is empty and has room for them. Errors end the generation.
    virtual Status propose(const Sequence& sequence, std::size_t limit, std::vector<std::int32_t>& candidates) = 0;
    // After verification; the sequence holds what was committed: the accepted candidates and, unless one of them ended
    // the answer, the target's own token.
    virtual void committed(const Sequence& sequence, const Verification& verification) = 0;
    // Steps of this answer for which it had candidates and kept them to itself, as verifying them would not have paid.
    virtual std::size_t withheld() const { return 0; }
};

// Autoregressive decoding: one token a step, nothing proposed.
class Autoregressive final : public Strategy {
public:
    std::string_view name() const override { return "ar"; }
    void begin(const Sequence&, std::size_t) override {}
    void cached(const Sequence&, std::size_t, std::size_t) override {}
    Status propose(const Sequence&, std::size_t, std::vector<std::int32_t>&) override { return {}; }
    void committed(const Sequence&, const Verification&) override {}
};

}  // namespace inkstone::generate
