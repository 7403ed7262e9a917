// The pre-tokenizer of tokenizer.json: cuts text into the words that BPE works on, by splits in a row. Each split sees
// each piece of the one before it as a text of its own, as Hugging Face's does.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/regex.h"
#include "text/tokenizer_definition.h"

namespace inkstone::text {

// Immutable after build; used by any number of threads.
class PreTokenizer {
public:
    // Errors: those of Regex::compile.
    static Result<PreTokenizer> build(const PreTokenizerDefinition& definition);

    // The pieces of `text` (valid UTF-8) in order, none empty. What is removed by a split is in no piece. `text` gets
    // spaces put in where the file asks for them (add_prefix_space). Errors: a pattern gave up.
    Status split(std::string& text, std::vector<Range>& pieces) const;

private:
    struct Split {
        Regex pattern;
        SplitBehavior behavior;
        bool invert;
    };
    static Status apply(const Split& split, std::string_view text, std::vector<Range>& pieces);

    std::vector<Split> splits_;
    bool add_prefix_space_ = false;
    std::optional<Split> byte_level_split_;  // after the spaces are put in
};

}  // namespace inkstone::text
