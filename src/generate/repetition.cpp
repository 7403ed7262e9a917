// For every period up to the longest unit, the length of the run that has it.
#include "generate/repetition.h"

#include <algorithm>

namespace inkstone::generate {

void RepetitionGuard::observe(std::span<const std::int32_t> ids) {
    const std::size_t newest = ids.size() - 1;
    const std::size_t units = std::min(newest, kMaximumUnit);
    for (std::size_t unit = 1; unit <= units; ++unit)
        matches_[unit - 1] = ids[newest] == ids[newest - unit] ? matches_[unit - 1] + 1 : 0;
}

std::optional<RepetitionGuard::Loop> RepetitionGuard::loop(const RepetitionLimits& limits) const {
    for (std::size_t unit = 1; unit <= kMaximumUnit; ++unit) {
        const std::size_t tail = matches_[unit - 1] + unit;
        if (matches_[unit - 1] > 0 && tail >= unit * limits.repeats && tail >= limits.tokens) return Loop{unit, tail};
    }
    return std::nullopt;
}

}  // namespace inkstone::generate
