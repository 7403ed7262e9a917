// The options of generation that take a value: names, help, and how their values are read. options.cpp declares them to
// the command line.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "hunyuan_ocr/options.h"

namespace inkstone::app {

struct GenerationOption {
    const char* name;
    const char* kind;
    const char* help;
    const char* group;
};

// In the order of --help.
inline constexpr std::array kGenerationOptions{
    GenerationOption{"--max-new-tokens", "N", "longest answer in tokens (default: the model's)", "Request"},
    GenerationOption{"--time-limit", "SECONDS", "end each answer after this time, pictures included (default: none)",
                     "Request"},
    GenerationOption{"--repetition-penalty", "X", "of tokens that were there before; 1 is none (default: the model's)",
                     "Penalties"},
    GenerationOption{"--presence-penalty", "X", "taken from scores of tokens in the answer (default: 0)", "Penalties"},
    GenerationOption{"--frequency-penalty", "X", "the same, for each time they are there (default: 0)", "Penalties"},
    GenerationOption{"--no-repeat-ngram-size", "N", "no run of N tokens twice; 0 is off (default: the model's)",
                     "Penalties"},
    GenerationOption{"--logit-bias", "ID=X,...", "added to the scores of tokens, by id", "Penalties"},
    GenerationOption{"--banned-ids", "ID,...", "tokens that are never chosen, by id", "Penalties"},
    GenerationOption{"--temperature", "X", "divides scores; above 1 more various, 0 is greedy", "Sampling"},
    GenerationOption{"--top-k", "N", "from the N likeliest; 0 is all", "Sampling"},
    GenerationOption{"--top-p", "P", "from the likeliest that together have probability P", "Sampling"},
    GenerationOption{"--min-p", "P", "from those at least P times as likely as the likeliest", "Sampling"},
    GenerationOption{"--tfs", "Z", "tail free sampling; 1 is off", "Sampling"},
    GenerationOption{"--typical", "P", "locally typical sampling; 1 is off", "Sampling"},
    GenerationOption{"--seed", "N",
                     "of the draws; the same seed gives the same answer (default: one of\n"
                     "chance; --json and --stats tell it)",
                     "Sampling"},
};

// Values by option name, as they were given; empty: not given.
using RawGeneration = std::map<std::string_view, std::string>;

// Sets the fields of the options that were given. The error names the option, what it is and what fits.
std::optional<UsageError> take_generation(const RawGeneration& raw, hunyuan_ocr::GenerationOptions& options);

}  // namespace inkstone::app
