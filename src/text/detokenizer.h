// Token ids to text as they come, in whole characters. One per running sequence, made by generate/ for on_text.
#pragma once

#include <cstdint>
#include <string>

#include "text/tokenizer.h"

namespace inkstone::text {

// Whatever ids are pushed, the texts given out, put together with flush()'s, equal tokenizer.decode(ids, true).
class Detokenizer {
public:
    // `tokenizer` must outlive the object.
    explicit Detokenizer(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

    // The text that this token completes: valid UTF-8, empty while a character is not whole. Special tokens add
    // nothing.
    std::string push(std::int32_t id);
    // Ends the text: U+FFFD when it stops inside a character, else nothing. The object is then as new.
    std::string flush();

private:
    const Tokenizer* tokenizer_;
    std::string tail_;  // at most three bytes of a character not yet whole
};

}  // namespace inkstone::text
