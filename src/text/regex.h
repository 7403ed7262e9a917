// Regular expressions of tokenizer.json. They are written for Oniguruma (Ruby syntax) and run here by PCRE2, so the
// pattern is first translated by regex_syntax.h; what would mean something else is refused by name. Used by the
// pre-tokenizer and the normalizer. Character classes are those of Unicode 14 (PCRE2 10.42).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace inkstone::text {

// [begin, end) in bytes.
struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
};

// A compiled pattern: immutable, shared by copies, used by any number of threads at once.
class Regex {
public:
    // Errors: unsupported (a construct that the two dialects read differently), malformed (not a pattern), with the
    // pattern and the offset in the message. `subject` names the file and key.
    static Result<Regex> compile(std::string_view pattern, std::string_view subject);
    // A pattern that matches just this text; the empty text matches between any two characters.
    static Result<Regex> literal(std::string_view text, std::string_view subject);

    // All matches in `text` (valid UTF-8), from left to right, never overlapping; an empty match directly after another
    // match is left out, as Oniguruma's callers do. `out` is replaced.
    // Errors: unsupported when a match takes more steps than a sane pattern ever needs (1 000 000 + 16 per byte).
    Status find_all(std::string_view text, std::vector<Range>& out) const;

private:
    struct Code;
    explicit Regex(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
    std::shared_ptr<const Code> code_;
};

}  // namespace inkstone::text
