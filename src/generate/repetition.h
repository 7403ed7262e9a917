// Notices that an answer has run into a loop: its tail is one unit repeated. Works on ids, costs some tens of
// nanoseconds a token, and allocates nothing after construction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace inkstone::generate {

// When a tail counts as a loop. Real text repeats too: dotted leaders, rulings, equal cells of a table.
struct RepetitionLimits {
    std::size_t repeats = 8;   // of the unit, at least
    std::size_t tokens = 128;  // of the whole tail, at least
};

class RepetitionGuard {
public:
    static constexpr std::size_t kMaximumUnit = 200;  // tokens

    // Takes the answer with its newest token last. Must be called once after every token.
    void observe(std::span<const std::int32_t> ids);

    // The tail that is a loop: its length, and that of the unit it repeats; the shortest unit if there are several.
    struct Loop {
        std::size_t unit = 0, tail = 0;
    };
    std::optional<Loop> loop(const RepetitionLimits& limits) const;

private:
    // matches_[u - 1]: how many of the newest tokens equal the token u before them.
    std::array<std::uint32_t, kMaximumUnit> matches_{};
};

}  // namespace inkstone::generate
