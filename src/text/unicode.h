// Unicode normal forms and the two character classes that the rules of added tokens need. Wraps utf8proc.
#pragma once

#include <string>

#include "base/result.h"

namespace inkstone::text {

enum class NormalForm { nfc, nfd, nfkc, nfkd };

// Replaces a valid text by its normal form. Errors: out_of_memory.
Status normalize(NormalForm form, std::string& text);

// \w as Rust's regex crate defines it: alphabetic characters, marks, decimal digits, connector punctuation, joiners.
bool is_word_character(char32_t code_point);
// \s as Rust's regex crate defines it: Unicode's White_Space.
bool is_white_space(char32_t code_point);

}  // namespace inkstone::text
