// Reads a tokenizer.json (Hugging Face tokenizers, version 1.0) into a TokenizerDefinition. The only file of text/ that
// knows simdjson. A component or key that is not known is an error that names it: nothing is read and then ignored,
// except `truncation`, `padding` and `post_processor`, which act only where special tokens are added or text is cut,
// and the engine does neither while encoding.
#pragma once

#include <string>

#include "base/result.h"
#include "text/tokenizer_definition.h"

namespace inkstone::text {

// `file` names the file in messages. Errors: malformed (not JSON, a wrong type, a key twice), unsupported (a component
// or option that is not byte-level BPE).
Result<TokenizerDefinition> parse_tokenizer_json(std::string json, const std::string& file);

}  // namespace inkstone::text
