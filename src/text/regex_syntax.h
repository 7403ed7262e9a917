// Translation of a pattern from Oniguruma's Ruby syntax, in which tokenizer.json is written, to PCRE2's.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace inkstone::text {

// The pattern in PCRE2's syntax (options UTF, UCP, MULTILINE, newline = LF) with the same matches. Differences met:
//   \s \S    White_Space in Oniguruma; PCRE2's own adds U+180E
//   \w \W \b Alphabetic, M, Nd, Pc in Oniguruma; PCRE2 10.42 has L, N and the underscore
//   \v \h    one vertical tab, and a hexadecimal digit; in PCRE2 they are classes of space
//   \p{Han}  the script itself; in PCRE2 the script extensions
// Refused by name, since the dialects differ and no known tokenizer has them: set operations inside brackets, POSIX
// brackets, {n,m}+, {,n}, back references, flags other than i, a bare (?i) that is not first, other escapes.
// Case-insensitive matching folds single characters only: (?i:ss) does not match U+00DF, as it does in Oniguruma.
Result<std::string> translate_pattern(std::string_view pattern, std::string_view subject);

}  // namespace inkstone::text
