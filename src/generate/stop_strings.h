// Ends an answer at a text, wherever the tokens that make it begin and end. Between the detokenizer and on_text: holds
// back what may still become a stop string, and nothing more.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace inkstone::generate {

// The answer ends where a stop string first becomes whole; of several that become whole at the same byte the longest
// counts. What is given out is the text before it, whatever the pieces: it depends on their concatenation alone.
class StopStrings {
public:
    // `strings` are not empty and valid UTF-8. Without any, every piece passes as it is.
    explicit StopStrings(std::vector<std::string> strings);

    // Takes the next whole characters and gives those that belong to the answer for certain: whole characters too.
    // After stopped() nothing more comes.
    std::string push(std::string_view piece);
    // The answer ended without a stop string: gives what was held back. The object is then as new.
    std::string flush();

    bool stopped() const { return stopped_; }

private:
    // Knuth, Morris, Pratt: fallback[n] is the longest proper prefix that is also a suffix of the first n bytes.
    struct Pattern {
        std::string text;
        std::vector<std::size_t> fallback;
        std::size_t matched = 0;  // bytes of the text that the input now ends with
    };

    std::vector<Pattern> patterns_;
    std::string held_;  // the longest beginning of a stop string that the input ends with
    bool stopped_ = false;
};

}  // namespace inkstone::generate
