// Runs one automaton for each stop string over the bytes. A stop string is valid UTF-8, so a beginning of one that ends
// where a character ends also begins where one begins: what is held back is whole characters.
#include "generate/stop_strings.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace inkstone::generate {

StopStrings::StopStrings(std::vector<std::string> strings) {
    for (std::string& text : strings) {
        assert(!text.empty());
        Pattern pattern{std::move(text), {}, 0};
        pattern.fallback.assign(pattern.text.size() + 1, 0);
        for (std::size_t n = 1, prefix = 0; n < pattern.text.size(); ++n) {
            while (prefix > 0 && pattern.text[prefix] != pattern.text[n]) prefix = pattern.fallback[prefix];
            if (pattern.text[prefix] == pattern.text[n]) ++prefix;
            pattern.fallback[n + 1] = prefix;
        }
        patterns_.push_back(std::move(pattern));
    }
}

std::string StopStrings::push(std::string_view piece) {
    if (stopped_) return {};
    if (patterns_.empty()) return std::string(piece);
    std::string text = std::exchange(held_, {});
    std::size_t longest = 0;
    for (const char byte : piece) {
        text += byte;
        longest = 0;
        std::size_t whole = 0;
        for (Pattern& pattern : patterns_) {
            std::size_t& matched = pattern.matched;
            while (matched > 0 && pattern.text[matched] != byte) matched = pattern.fallback[matched];
            if (pattern.text[matched] == byte) ++matched;
            longest = std::max(longest, matched);
            if (matched == pattern.text.size()) whole = std::max(whole, matched);
        }
        if (whole > 0) {
            stopped_ = true;
            text.resize(text.size() - whole);
            return text;
        }
    }
    if (piece.empty()) longest = text.size();
    held_ = text.substr(text.size() - longest);
    text.resize(text.size() - longest);
    return text;
}

std::string StopStrings::flush() {
    for (Pattern& pattern : patterns_) pattern.matched = 0;
    return stopped_ ? std::string() : std::exchange(held_, {});
}

}  // namespace inkstone::generate
