// Places of token pairs in chains, newest first, as a dictionary compressor keeps them.
#include "generate/lookahead.h"

#include <algorithm>
#include <cassert>

namespace inkstone::generate {
namespace {

// Places of one chain that are looked at: bounds the time of a step on text of few different tokens.
constexpr std::size_t kMostPlaces = 64;
// After this many withheld proposals the costs of blocks are measured anew.
constexpr std::size_t kWithheldBeforeNewTrial = 64;

std::size_t bucket(std::int32_t first, std::int32_t second) {
    const std::uint32_t mixed =
        static_cast<std::uint32_t>(first) * 0x9E3779B1U ^ static_cast<std::uint32_t>(second) * 0x85EBCA77U;
    return mixed >> 20;  // 4096 buckets
}

}  // namespace

Lookahead::Lookahead(const LookaheadOptions& options) : options_(options) {
    assert(options.block_size >= 1 && options.block_size <= kMaximumBlock);
}

void Lookahead::begin(const Sequence&, std::size_t capacity) {
    newest_.fill(0);
    before_.clear();
    before_.reserve(capacity);
    rates_ = {};
    match_.reset();
    withheld_ = 0;
}

void Lookahead::cached(const Sequence& sequence, std::size_t first, std::size_t rows) {
    // From the first place on that is not in a chain yet: tokens that were cached before are in none.
    const auto ids = sequence.ids();
    while (before_.size() < first + rows) {
        const std::size_t place = before_.size();
        if (place == 0) {
            before_.push_back(0);
            continue;
        }
        std::uint32_t& newest = newest_[bucket(ids[place - 1], ids[place])];
        before_.push_back(newest);
        newest = static_cast<std::uint32_t>(place + 1);
    }
}

std::optional<Lookahead::Match> Lookahead::find(std::span<const std::int32_t> ids) const {
    if (ids.size() < 3) return std::nullopt;
    Match best;
    std::uint32_t entry = newest_[bucket(ids[ids.size() - 2], ids.back())];
    for (std::size_t looked = 0; entry != 0 && looked < kMostPlaces; ++looked) {
        const std::size_t next = entry;  // behind the place
        entry = before_[next - 1];
        if (next >= ids.size()) continue;  // the end itself
        std::size_t length = 0;
        while (length < std::min(next, HitRates::kLongest) && ids[next - 1 - length] == ids[ids.size() - 1 - length])
            ++length;
        if (length > best.length) best = {next, length};
        if (length == HitRates::kLongest) break;
    }
    return best.length >= 2 ? std::optional(best) : std::nullopt;
}

Status Lookahead::propose(const Sequence& sequence, std::size_t limit, std::vector<std::int32_t>& candidates) {
    const auto ids = sequence.ids();
    known_ = ids.size();
    match_.reset();
    const std::size_t most = std::min(limit, options_.block_size - 1);
    if (most == 0) return {};
    match_ = find(ids);
    if (!match_) return {};
    predicted_ = ids[match_->next];
    const std::size_t count = options_.adaptive ? worthwhile(costs_, rates_, match_->length, most) : most;
    if (count == 0 && ++withheld_ % kWithheldBeforeNewTrial == 0) costs_.forget_blocks();
    // A copy that reaches the end goes on with what it has copied: a unit that repeats.
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t source = match_->next + i;
        candidates.push_back(source < ids.size() ? ids[source] : candidates[source - ids.size()]);
    }
    return {};
}

void Lookahead::committed(const Sequence& sequence, const Verification& verification) {
    costs_.observe(1 + verification.proposed, verification.step_ms);
    if (!match_) return;
    for (std::size_t i = 0; i < verification.accepted; ++i) rates_.observe(match_->length + i, true);
    const std::size_t own = known_ + verification.accepted;  // where the target's own token stands, if it does
    if (own >= sequence.size()) return;
    if (verification.proposed == 0)
        rates_.observe(match_->length, sequence.ids()[own] == predicted_);
    else if (verification.accepted < verification.proposed)
        rates_.observe(match_->length + verification.accepted, false);
}

}  // namespace inkstone::generate
