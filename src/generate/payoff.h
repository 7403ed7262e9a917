// Whether verifying a draft pays: what a step of so many rows costs here, measured, against how many of the candidates
// the target is likely to take. Decides how much is verified, never what is chosen.
#pragma once

#include <array>
#include <cstddef>

#include "generate/strategy.h"

namespace inkstone::generate {

// Milliseconds of the target's steps by number of rows. A property of machine and model: kept from answer to answer.
class StepCosts {
public:
    void observe(std::size_t rows, double ms);
    // Of a step of this many rows against a step of one. Row counts that were never measured are taken for cheap, so
    // that they are tried once.
    double relative(std::size_t rows) const;
    // Unlearns all but the step of one row: one unlucky measurement must not decide for ever.
    void forget_blocks();

private:
    std::array<double, kMaximumBlock + 1> ms_{};  // by rows; 0: not measured
};

// How often a prediction was right, by the length of the match that it rests on.
class HitRates {
public:
    static constexpr std::size_t kLongest = 16;  // longer matches count as this

    void observe(std::size_t match, bool hit);
    double rate(std::size_t match) const;

private:
    struct Count {
        double hits = 0, misses = 0;
    };
    std::array<Count, kLongest + 1> counts_{};
    Count all_;
};

// How many of up to `limit` candidates are worth a step, given that the first rests on a match of this length and each
// further one on a match one longer. 0: a step of one row is expected to be the faster way.
std::size_t worthwhile(const StepCosts& costs, const HitRates& rates, std::size_t match, std::size_t limit);

}  // namespace inkstone::generate
