// Merging one word: always the pair of lowest rank first, the leftmost among equals. Short words look through all
// pairs; long ones (a run of Chinese characters is one word) keep the pairs in a heap, so that time stays n log n.
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <string_view>
#include <vector>

#include "text/bpe.h"

namespace inkstone::text {
namespace {

constexpr std::size_t kShortWord = 48;  // symbols; above it the heap wins
constexpr std::uint32_t kNoRank = std::numeric_limits<std::uint32_t>::max();

}  // namespace

const Bpe::Merge* Bpe::find_merge(std::int32_t left, std::int32_t right, bool special_as_text) const {
    const Merge* merge = merges_.find(static_cast<std::uint32_t>(left), static_cast<std::uint32_t>(right));
    return merge != nullptr && special_as_text && is_special(merge->id) ? nullptr : merge;
}

// One id per byte. Bytes that the vocabulary lacks become the unknown token (a run of them one token, when fused), or
// nothing when there is none.
void Bpe::initial_ids(std::string_view word, std::vector<std::int32_t>& out) const {
    bool after_unknown = false;
    for (const char c : word) {
        const std::int32_t id = byte_ids_[static_cast<unsigned char>(c)];
        if (id >= 0)
            out.push_back(id);
        else if (unknown_id_ && !(after_unknown && fuse_unknown_))
            out.push_back(*unknown_id_);
        after_unknown = id < 0;
    }
}

void Bpe::encode(std::string_view word, bool special_as_text, std::vector<std::int32_t>& out) const {
    if (ignore_merges_) {
        if (const auto id = id_of(word); id && !(special_as_text && is_special(*id))) {
            out.push_back(*id);
            return;
        }
    }
    const std::size_t first = out.size();
    initial_ids(word, out);
    const std::size_t symbols = out.size() - first;
    if (symbols < 2) return;
    if (symbols <= kShortWord)
        merge_short(out, first, special_as_text);
    else
        merge_long(out, first, special_as_text);
}

void Bpe::merge_short(std::vector<std::int32_t>& ids, std::size_t first, bool special_as_text) const {
    std::int32_t* symbols = ids.data() + first;
    std::size_t count = ids.size() - first;
    std::array<Merge, kShortWord> merges;  // merges[i] joins symbols[i] and symbols[i + 1]
    const auto look_up = [&](std::size_t i) {
        const Merge* merge = find_merge(symbols[i], symbols[i + 1], special_as_text);
        merges[i] = merge != nullptr ? *merge : Merge{kNoRank, -1};
    };
    for (std::size_t i = 0; i + 1 < count; ++i) look_up(i);
    while (count > 1) {
        const auto end = merges.begin() + static_cast<std::ptrdiff_t>(count - 1);
        const auto best =
            std::min_element(merges.begin(), end, [](const Merge& a, const Merge& b) { return a.rank < b.rank; });
        if (best->rank == kNoRank) break;
        const auto i = static_cast<std::size_t>(best - merges.begin());
        symbols[i] = best->id;
        std::copy(symbols + i + 2, symbols + count, symbols + i + 1);
        std::copy(best + 1, end, best);
        --count;
        if (i > 0) look_up(i - 1);
        if (i + 1 < count) look_up(i);
    }
    ids.resize(first + count);
}

void Bpe::merge_long(std::vector<std::int32_t>& ids, std::size_t first, bool special_as_text) const {
    // Symbols are a linked list; a symbol that was taken into its left neighbour has id -1.
    struct Symbol {
        std::int32_t id;
        std::uint32_t previous;
        std::uint32_t next;
    };
    struct Candidate {
        std::uint32_t rank;
        std::uint32_t position;
        std::int32_t id;
        bool operator>(const Candidate& other) const {
            return rank != other.rank ? rank > other.rank : position > other.position;
        }
    };
    constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
    const auto count = static_cast<std::uint32_t>(ids.size() - first);
    std::vector<Symbol> symbols(count);
    for (std::uint32_t i = 0; i < count; ++i)
        symbols[i] = {ids[first + i], i == 0 ? kNone : i - 1, i + 1 == count ? kNone : i + 1};

    std::vector<Candidate> storage;
    storage.reserve(count);
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates(std::greater<>{},
                                                                                      std::move(storage));
    const auto consider = [&](std::uint32_t position) {
        const Symbol& symbol = symbols[position];
        if (symbol.next == kNone) return;
        if (const Merge* merge = find_merge(symbol.id, symbols[symbol.next].id, special_as_text))
            candidates.push({merge->rank, position, merge->id});
    };
    for (std::uint32_t i = 0; i < count; ++i) consider(i);
    while (!candidates.empty()) {
        const Candidate candidate = candidates.top();
        candidates.pop();
        Symbol& left = symbols[candidate.position];
        if (left.id < 0 || left.next == kNone) continue;
        // Out of date unless the pair that stands here now still makes the same token.
        const Merge* merge = find_merge(left.id, symbols[left.next].id, special_as_text);
        if (merge == nullptr || merge->id != candidate.id) continue;
        Symbol& right = symbols[left.next];
        left.id = candidate.id;
        left.next = right.next;
        right.id = -1;
        if (left.next != kNone) symbols[left.next].previous = candidate.position;
        if (left.previous != kNone) consider(left.previous);
        consider(candidate.position);
    }
    ids.resize(first);
    for (std::uint32_t i = 0; i != kNone; i = symbols[i].next) ids.push_back(symbols[i].id);
}

}  // namespace inkstone::text
