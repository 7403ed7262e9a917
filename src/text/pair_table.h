// A hash table from a pair of numbers below 2^31 to a small value, in one array without pointers (open addressing,
// linear probing, at most half full). It holds the merges (left id, right id) and the edges of the added tokens' trie.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace inkstone::text {

template <class Value>
class PairTable {
public:
    // Room for `count` entries without growing.
    void reserve(std::size_t count) {
        if (slots_.size() < 2 * count) rehash(std::bit_ceil(2 * count));
    }

    // The value of (left, right), or null.
    const Value* find(std::uint32_t left, std::uint32_t right) const {
        if (slots_.empty()) return nullptr;
        const std::uint64_t key = key_of(left, right);
        for (std::size_t i = home(key);; i = (i + 1) & (slots_.size() - 1)) {
            if (slots_[i].key == key) return &slots_[i].value;
            if (slots_[i].key == kEmpty) return nullptr;
        }
    }

    // Adds (left, right). When it is there already, changes nothing and returns the value that it has.
    const Value* insert(std::uint32_t left, std::uint32_t right, const Value& value) {
        if (const Value* present = find(left, right)) return present;
        reserve(count_ + 1);
        place(key_of(left, right), value);
        ++count_;
        return nullptr;
    }

    std::size_t size() const { return count_; }

private:
    static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
    struct Slot {
        std::uint64_t key = kEmpty;
        Value value{};
    };

    static std::uint64_t key_of(std::uint32_t left, std::uint32_t right) { return std::uint64_t{left} << 32U | right; }
    // Fibonacci hashing: the high bits of a product with 2^64 divided by the golden ratio.
    std::size_t home(std::uint64_t key) const {
        key ^= key >> 29U;
        return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ULL) >> shift_);
    }
    void place(std::uint64_t key, const Value& value) {
        std::size_t i = home(key);
        while (slots_[i].key != kEmpty) i = (i + 1) & (slots_.size() - 1);
        slots_[i] = {key, value};
    }
    void rehash(std::size_t capacity) {
        if (capacity < 16) capacity = 16;
        std::vector<Slot> old(capacity);
        old.swap(slots_);
        shift_ = 64U - static_cast<unsigned>(std::countr_zero(capacity));
        for (const Slot& slot : old)
            if (slot.key != kEmpty) place(slot.key, slot.value);
    }

    std::vector<Slot> slots_;
    std::size_t count_ = 0;
    unsigned shift_ = 64;
};

}  // namespace inkstone::text
