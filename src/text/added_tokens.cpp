// The trie of added tokens and the rules of single_word, lstrip and rstrip.
#include "text/added_tokens.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/unicode.h"

namespace inkstone::text {
namespace {

// The code point of the last character of a valid, non-empty text, and where it begins.
char32_t last_character(std::string_view text, std::size_t& begin) {
    begin = text.size() - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80) --begin;
    return decode_utf8(text.substr(begin)).code_point;
}

bool ends_with_word(std::string_view text) {
    std::size_t begin = 0;
    return !text.empty() && is_word_character(last_character(text, begin));
}

bool starts_with_word(std::string_view text) {
    return !text.empty() && is_word_character(decode_utf8(text).code_point);
}

// Where the white space at the end of `text` begins.
std::size_t trailing_space_begin(std::string_view text) {
    while (!text.empty()) {
        std::size_t begin = 0;
        if (!is_white_space(last_character(text, begin))) break;
        text = text.substr(0, begin);
    }
    return text.size();
}

std::size_t leading_space_length(std::string_view text) {
    std::size_t length = 0;
    while (length < text.size()) {
        const DecodedCharacter character = decode_utf8(text.substr(length));
        if (!is_white_space(character.code_point)) break;
        length += character.length_bytes;
    }
    return length;
}

}  // namespace

bool AddedTokens::add(std::string_view content, const AddedToken& token) {
    std::uint32_t node = 0;
    for (const char c : content) {
        const auto next = static_cast<std::uint32_t>(token_of_node_.size());
        if (const auto* present = edges_.insert(node, static_cast<unsigned char>(c), next)) {
            node = *present;
            continue;
        }
        token_of_node_.push_back(-1);
        node = next;
    }
    if (token_of_node_[node] >= 0) return false;
    token_of_node_[node] = static_cast<std::int32_t>(tokens_.size());
    tokens_.push_back(token);
    first_bytes_[static_cast<unsigned char>(content.front())] = true;
    return true;
}

std::int32_t AddedTokens::longest_at(std::string_view text, std::size_t position, std::size_t& end) const {
    std::int32_t longest = -1;
    std::uint32_t node = 0;
    for (std::size_t i = position; i < text.size(); ++i) {
        const auto* next = edges_.find(node, static_cast<unsigned char>(text[i]));
        if (next == nullptr) break;
        node = *next;
        if (token_of_node_[node] < 0) continue;
        longest = token_of_node_[node];
        end = i + 1;
    }
    return longest;
}

void AddedTokens::split(std::string_view text, bool special_as_text, std::vector<TokenOrText>& out) const {
    out.clear();
    std::size_t text_begin = 0;  // of the text not yet given out
    for (std::size_t position = 0; position < text.size();) {
        std::size_t end = 0;
        const std::int32_t index =
            first_bytes_[static_cast<unsigned char>(text[position])] ? longest_at(text, position, end) : -1;
        if (index < 0) {
            ++position;
            continue;
        }
        const AddedToken& token = tokens_[static_cast<std::size_t>(index)];
        std::size_t begin = position;
        position = end;
        if (token.special && special_as_text) continue;
        if (token.single_word && (ends_with_word(text.substr(0, begin)) || starts_with_word(text.substr(end))))
            continue;
        // White space that the token before has taken is not taken twice.
        if (token.lstrip) begin = std::max(trailing_space_begin(text.substr(0, begin)), text_begin);
        if (token.rstrip) end += leading_space_length(text.substr(end));
        if (text_begin < begin) out.push_back({-1, {text_begin, begin}});
        out.push_back({token.id, {begin, end}});
        text_begin = end;
    }
    if (text_begin < text.size()) out.push_back({-1, {text_begin, text.size()}});
}

}  // namespace inkstone::text
