// How the next tokens are found: a strategy proposes candidates, the generator verifies them with the target model in
// one step and commits those that the target itself would have chosen. A wrong proposal costs time, never a token.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "generate/sequence.h"

namespace inkstone::generate {

class Strategy {
public:
    virtual ~Strategy() = default;
    virtual std::string_view name() const = 0;
    // Candidates for the tokens that follow the sequence's last (chosen, not yet cached) token: at most `limit`,
    // written to `candidates`, which is empty and has room for them.
    virtual void propose(const Sequence& sequence, std::size_t limit, std::vector<std::int32_t>& candidates) = 0;
    // After verification: how many of the proposed candidates were accepted.
    virtual void committed(const Sequence& sequence, std::size_t accepted) = 0;
};

// Autoregressive decoding: one token a step, nothing proposed.
class Autoregressive final : public Strategy {
public:
    std::string_view name() const override { return "ar"; }
    void propose(const Sequence&, std::size_t, std::vector<std::int32_t>&) override {}
    void committed(const Sequence&, std::size_t) override {}
};

}  // namespace inkstone::generate
