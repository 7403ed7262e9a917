// Lookahead: candidates are what followed the last time when prompt or answer ended in the same tokens. It needs no
// second model, and pays where text repeats itself: tables, forms, coordinates.
#pragma once

#include <array>
#include <optional>

#include "generate/payoff.h"
#include "generate/strategy.h"

namespace inkstone::generate {

struct LookaheadOptions {
    std::size_t block_size = kMaximumBlock;  // 1 to kMaximumBlock
    // Verifies only what is expected to pay on this machine and text; false: whatever is found (for tests).
    bool adaptive = true;
};

// One per executor; serves one sequence at a time.
class Lookahead final : public Strategy {
public:
    explicit Lookahead(const LookaheadOptions& options = {});

    std::string_view name() const override { return "lookahead"; }
    std::size_t block_size() const override { return options_.block_size; }
    void begin(const Sequence& sequence, std::size_t capacity) override;
    void cached(const Sequence& sequence, std::size_t first, std::size_t rows) override;
    Status propose(const Sequence& sequence, std::size_t limit, std::vector<std::int32_t>& candidates) override;
    void committed(const Sequence& sequence, const Verification& verification) override;
    std::size_t withheld() const override { return withheld_; }

private:
    // A place where the sequence ended in the same tokens before.
    struct Match {
        std::size_t next = 0;    // the token that followed there
        std::size_t length = 0;  // tokens that agree, 2 to HitRates::kLongest
    };
    std::optional<Match> find(std::span<const std::int32_t> ids) const;

    LookaheadOptions options_;
    // Chains of places by the hash of the two tokens that end there. Entries are the place plus one, 0 ends a chain.
    std::array<std::uint32_t, 4096> newest_{};
    std::vector<std::uint32_t> before_;  // by place: the one before it in its chain
    StepCosts costs_;
    HitRates rates_;
    // Of the latest proposal, or of one that was withheld: it is compared with the answer all the same.
    std::optional<Match> match_;
    std::size_t known_ = 0;
    std::int32_t predicted_ = 0;
    std::size_t withheld_ = 0;
};

}  // namespace inkstone::generate
