// Steps in a row over one text.
#include "text/normalizer.h"

namespace inkstone::text {

Result<Normalizer> Normalizer::build(const std::vector<NormalizerDefinition>& definitions) {
    Normalizer out;
    for (const NormalizerDefinition& definition : definitions) {
        Step step{definition.kind, definition.form, std::string(definition.text), std::nullopt};
        if (definition.kind == NormalizerDefinition::Kind::replace) {
            const auto compile = definition.pattern.is_regex ? Regex::compile : Regex::literal;
            INKSTONE_TRY(step.pattern, compile(definition.pattern.text, definition.key));
        }
        out.steps_.push_back(std::move(step));
    }
    return out;
}

Status Normalizer::apply(std::string& text) const {
    using Kind = NormalizerDefinition::Kind;
    for (const Step& step : steps_) {
        if (text.empty()) return {};
        if (step.kind == Kind::prepend) {
            text.insert(0, step.text);
        } else if (step.kind == Kind::replace) {
            std::vector<Range> matches;
            INKSTONE_CHECK(step.pattern->find_all(text, matches));
            std::string replaced;
            std::size_t copied = 0;
            for (const Range match : matches) {
                replaced.append(text, copied, match.begin - copied).append(step.text);
                copied = match.end;
            }
            text = replaced.append(text, copied);
        } else {
            INKSTONE_CHECK(normalize(step.form, text));
        }
    }
    return {};
}

}  // namespace inkstone::text
