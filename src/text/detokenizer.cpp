// Holds back the bytes of a cut character until they are whole or known to be bad.
#include "text/detokenizer.h"

#include <utility>

#include "base/utf8.h"

namespace inkstone::text {

std::string Detokenizer::push(std::int32_t id) {
    if (tokenizer_->is_special(id)) return {};
    std::string bytes = std::exchange(tail_, {});
    bytes += tokenizer_->token_bytes(id);
    const std::size_t complete = complete_utf8_length(bytes);
    tail_ = bytes.substr(complete);
    bytes.resize(complete);
    return is_valid_utf8(bytes) ? bytes : replace_invalid_utf8(bytes);
}

std::string Detokenizer::flush() { return replace_invalid_utf8(std::exchange(tail_, {})); }

}  // namespace inkstone::text
