// The normalizer of tokenizer.json: changes text before it is split. Unicode forms are those of utf8proc.
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
class Normalizer {
public:
    // Errors: those of Regex::compile.
    static Result<Normalizer> build(const std::vector<NormalizerDefinition>& definitions);

    bool empty() const { return steps_.empty(); }
    // `text` is valid UTF-8 and replaced by its normal form. Errors: a pattern gave up; out of memory.
    Status apply(std::string& text) const;

private:
    struct Step {
        NormalizerDefinition::Kind kind;
        NormalForm form;
        std::string text;
        std::optional<Regex> pattern;
    };
    std::vector<Step> steps_;
};

}  // namespace inkstone::text
