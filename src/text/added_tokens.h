// The tokens that are looked for in the text itself, before it is split: control tokens and user-added ones. A trie
// finds, from left to right, the longest that begins at each place (leftmost-longest, as Hugging Face's automaton).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/pair_table.h"
#include "text/regex.h"

namespace inkstone::text {

struct AddedToken {
    std::int32_t id = 0;
    bool special = false;
    bool single_word = false;  // only where no word character stands beside it
    bool lstrip = false;       // takes the white space before it
    bool rstrip = false;       // takes the white space after it
};

// A piece of a text: a token, or text between tokens (id < 0).
struct TokenOrText {
    std::int32_t id = -1;
    Range range;
};

// Immutable once filled; used by any number of threads.
class AddedTokens {
public:
    // `content` is not empty. Returns false when there is a token of that content already.
    bool add(std::string_view content, const AddedToken& token);

    bool empty() const { return tokens_.empty(); }
    // Cuts a valid text. With `special_as_text` the places of special tokens stay text (and no other token is looked
    // for inside such a place). Text pieces are never empty. `out` is replaced.
    void split(std::string_view text, bool special_as_text, std::vector<TokenOrText>& out) const;

private:
    // The longest token at text[position...]: its index and end, or -1.
    std::int32_t longest_at(std::string_view text, std::size_t position, std::size_t& end) const;

    std::vector<AddedToken> tokens_;
    PairTable<std::uint32_t> edges_;               // (node, byte) -> node; node 0 is the root
    std::vector<std::int32_t> token_of_node_{-1};  // index into tokens_, or -1
    std::vector<bool> first_bytes_ = std::vector<bool>(256);
};

}  // namespace inkstone::text
