// Merges the options with the package's values and refuses what makes no sense.
#include "runtime/generation_options.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "runtime/options.h"

namespace inkstone::runtime {
namespace {

constexpr std::size_t kMostStops = 64, kLongestStop = 1024;  // bytes

[[noreturn]] void refuse(const char* option, const std::string& message) {
    raise({ErrorCode::invalid_argument, "generate", option, message});
}

std::size_t count_of(const char* option, std::int64_t value) {
    if (value < 0) refuse(option, "is " + std::to_string(value) + ", expected 0 or more");
    return static_cast<std::size_t>(value);
}

std::uint64_t seed_of_chance() {
    std::random_device chance;
    return ((std::uint64_t{chance()} << 32) | chance()) >> 11;
}

// The first of the values that only a drawn answer uses, or null.
const char* filter_that_is_set(const hunyuan_ocr::GenerationOptions& options) {
    const std::array<std::pair<const char*, bool>, 6> filters{{{"temperature", options.temperature.value_or(0) != 0},
                                                               {"top_k", options.top_k.has_value()},
                                                               {"top_p", options.top_p.has_value()},
                                                               {"min_p", options.min_p.has_value()},
                                                               {"tfs", options.tfs.has_value()},
                                                               {"typical", options.typical.has_value()}}};
    for (const auto& [name, set] : filters)
        if (set) return name;
    return nullptr;
}

void check_stops(const std::vector<std::string>& stops) {
    if (stops.size() > kMostStops)
        refuse("stop",
               "has " + std::to_string(stops.size()) + " texts, expected at most " + std::to_string(kMostStops));
    for (const std::string& stop : stops) {
        if (stop.empty() || stop.size() > kLongestStop)
            refuse("stop", "has a text of " + std::to_string(stop.size()) + " bytes, expected 1 to " +
                               std::to_string(kLongestStop));
        if (!is_valid_utf8(stop)) refuse("stop", "has a text that is not UTF-8; an answer is never cut in a character");
    }
}

}  // namespace

AnswerOptions answer_options(const hunyuan_ocr::GenerationOptions& options,
                             const model::hunyuan_vl::GenerationDefaults& defaults, std::size_t vocabulary) {
    AnswerOptions answer;
    answer.max_new_tokens = count_of(
        "max_new_tokens", options.max_new_tokens ? *options.max_new_tokens
                                                 : defaults.max_new_tokens.value_or(hunyuan_ocr::kDefaultMaxNewTokens));
    generate::SamplerOptions& sampler = answer.sampler;
    const char* filter = filter_that_is_set(options);
    if (filter != nullptr && options.do_sample && !*options.do_sample)
        refuse("do_sample", std::string("is false and ") + filter + " is set; a greedy answer has no use for it");
    sampler.do_sample = options.do_sample ? *options.do_sample : (filter != nullptr || defaults.do_sample);
    sampler.temperature = options.temperature.value_or(defaults.temperature);
    sampler.top_k = options.top_k ? count_of("top_k", *options.top_k) : defaults.top_k;
    sampler.top_p = options.top_p.value_or(defaults.top_p);
    sampler.min_p = options.min_p.value_or(defaults.min_p);
    sampler.tfs = options.tfs.value_or(1);
    sampler.typical = options.typical.value_or(defaults.typical_p);
    sampler.repetition_penalty = options.repetition_penalty.value_or(defaults.repetition_penalty);
    sampler.presence_penalty = options.presence_penalty;
    sampler.frequency_penalty = options.frequency_penalty;
    sampler.no_repeat_ngram_size = options.no_repeat_ngram_size
                                       ? count_of("no_repeat_ngram_size", *options.no_repeat_ngram_size)
                                       : defaults.no_repeat_ngram_size;
    sampler.logit_bias = options.logit_bias;
    sampler.banned_ids = options.banned_ids;
    if (const Status checked = generate::check(sampler, vocabulary); !checked) raise(checked.error());
    sampler.do_sample = !sampler.greedy();
    if (sampler.do_sample) sampler.seed = options.seed ? *options.seed : seed_of_chance();
    check_stops(options.stop);
    answer.stop = options.stop;
    if (!(options.time_limit_seconds >= 0))
        refuse("time_limit",
               "is " + std::to_string(options.time_limit_seconds) + " seconds, expected 0 (none) or more");
    answer.repetition_guard = options.repetition_guard;
    answer.cancel = options.cancel;
    return answer;
}

hunyuan_ocr::UsedOptions used_options(const AnswerOptions& options, double time_limit_seconds) {
    const generate::SamplerOptions& sampler = options.sampler;
    hunyuan_ocr::UsedOptions used;
    used.max_new_tokens = static_cast<int>(options.max_new_tokens);
    used.do_sample = sampler.do_sample;
    used.temperature = sampler.temperature;
    used.top_p = sampler.top_p;
    used.min_p = sampler.min_p;
    used.tfs = sampler.tfs;
    used.typical = sampler.typical;
    used.top_k = static_cast<int>(sampler.top_k);
    used.seed = sampler.seed;
    used.repetition_penalty = sampler.repetition_penalty;
    used.presence_penalty = sampler.presence_penalty;
    used.frequency_penalty = sampler.frequency_penalty;
    used.no_repeat_ngram_size = static_cast<int>(sampler.no_repeat_ngram_size);
    used.logit_bias = sampler.logit_bias;
    used.banned_ids = sampler.banned_ids;
    used.stop = options.stop;
    used.time_limit_seconds = time_limit_seconds;
    used.repetition_guard = options.repetition_guard;
    return used;
}

}  // namespace inkstone::runtime
