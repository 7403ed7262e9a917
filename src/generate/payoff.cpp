// Expected tokens of a step over its relative time.
#include "generate/payoff.h"

#include <algorithm>

namespace inkstone::generate {
namespace {

// What a row is taken to cost until it was measured, as a share of a step of one row: the first beside one row, and
// each further one beside a block that was measured.
constexpr double kUnknownRow = 0.15, kUnknownFurtherRow = 0.05;
// Slower measurements than the known time are mostly other work on the machine, so they move it less.
constexpr double kFaster = 0.5, kSlower = 0.1;
// Before anything is known three predictions in ten are right, with the weight of three observations; a length of match
// starts at the rate of all lengths, with the weight of two.
constexpr double kPriorRate = 0.3, kPriorWeight = 3, kSharedWeight = 2;
// Old observations fade: pages change from form to prose.
constexpr double kFading = 0.97;
// A block must promise this much over one token a step.
constexpr double kLeastGain = 1.05;

}  // namespace

void StepCosts::observe(std::size_t rows, double ms) {
    double& known = ms_[std::min(rows, kMaximumBlock)];
    if (known == 0)
        known = ms;
    else
        known += (ms < known ? kFaster : kSlower) * (ms - known);
}

double StepCosts::relative(std::size_t rows) const {
    if (rows <= 1) return 1;
    const double one = ms_[1];
    if (one == 0) return 1 + kUnknownRow * static_cast<double>(rows - 1);
    if (ms_[rows] != 0) return ms_[rows] / one;
    std::size_t below = rows - 1;
    while (below > 1 && ms_[below] == 0) --below;
    const double further = below == 1 ? kUnknownRow : kUnknownFurtherRow;
    double cost = ms_[below] / one + further * static_cast<double>(rows - below);
    for (std::size_t above = rows + 1; above <= kMaximumBlock; ++above)
        if (ms_[above] != 0) cost = std::min(cost, ms_[above] / one);
    return cost;
}

void StepCosts::forget_blocks() { std::fill(ms_.begin() + 2, ms_.end(), 0); }

void HitRates::observe(std::size_t match, bool hit) {
    for (Count* count : {&counts_[std::min(match, kLongest)], &all_}) {
        count->hits = kFading * count->hits + (hit ? 1 : 0);
        count->misses = kFading * count->misses + (hit ? 0 : 1);
    }
}

double HitRates::rate(std::size_t match) const {
    const double shared = (all_.hits + kPriorRate * kPriorWeight) / (all_.hits + all_.misses + kPriorWeight);
    const Count& count = counts_[std::min(match, kLongest)];
    return (count.hits + shared * kSharedWeight) / (count.hits + count.misses + kSharedWeight);
}

std::size_t worthwhile(const StepCosts& costs, const HitRates& rates, std::size_t match, std::size_t limit) {
    double expected = 1, chance = 1, best = kLeastGain;
    std::size_t count = 0;
    for (std::size_t i = 0; i < std::min(limit, kMaximumBlock - 1); ++i) {
        chance *= rates.rate(match + i);
        expected += chance;
        const double gain = expected / costs.relative(2 + i);
        if (gain < best) continue;
        best = gain;
        count = i + 1;
    }
    return count;
}

}  // namespace inkstone::generate
