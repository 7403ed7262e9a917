// Ranges of the sampler's values, and the steps of each kind.
#include "generate/sampler/options.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <string>

namespace inkstone::generate {
namespace {

constexpr std::array<std::string_view, 9> kKinds{"greedy", "temperature", "topK",    "topP", "minP",
                                                 "tfs",    "typical",     "penalty", "mixed"};

Error refused(const char* field, const std::string& found, const std::string& expected) {
    return {ErrorCode::invalid_argument, "generate", field, "is " + found + ", expected " + expected};
}

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value);
    return text;
}

// NaN is in no range.
Status check_range(const char* field, float value, float least, float most, const char* meaning) {
    if (value >= least && value <= most) return {};
    return refused(field, number(value),
                   number(least) + " to " + number(most) + (*meaning != '\0' ? " (" : "") + meaning +
                       (*meaning != '\0' ? ")" : ""));
}

// Above 0, at most 1.
Status check_share(const char* field, float value) {
    if (value > 0 && value <= 1) return {};
    return refused(field, number(value), "more than 0 and at most 1 (1: off)");
}

Status check_id(const char* field, std::int32_t id, std::size_t vocabulary) {
    if (id >= 0 && static_cast<std::size_t>(id) < vocabulary) return {};
    return refused(field, "for the id " + std::to_string(id), "ids 0 to " + std::to_string(vocabulary - 1));
}

}  // namespace

Status check(const SamplerOptions& options, std::size_t vocabulary) {
    INKSTONE_CHECK(check_range("temperature", options.temperature, 0, kMostTemperature, "0: greedy"));
    INKSTONE_CHECK(check_share("top_p", options.top_p));
    INKSTONE_CHECK(check_range("min_p", options.min_p, 0, 1, "0: off"));
    INKSTONE_CHECK(check_share("tfs", options.tfs));
    INKSTONE_CHECK(check_share("typical", options.typical));
    INKSTONE_CHECK(check_range("repetition_penalty", options.repetition_penalty, kLeastRepetitionPenalty,
                               kMostRepetitionPenalty, "1: none"));
    INKSTONE_CHECK(
        check_range("presence_penalty", options.presence_penalty, -kMostCountPenalty, kMostCountPenalty, "0: none"));
    INKSTONE_CHECK(
        check_range("frequency_penalty", options.frequency_penalty, -kMostCountPenalty, kMostCountPenalty, "0: none"));
    for (const auto& [id, bias] : options.logit_bias) {
        INKSTONE_CHECK(check_id("logit_bias", id, vocabulary));
        if (!std::isfinite(bias))
            return refused("logit_bias", number(bias) + " for the id " + std::to_string(id),
                           "a finite number (banned_ids keeps an id out)");
    }
    for (const std::int32_t id : options.banned_ids) INKSTONE_CHECK(check_id("banned_ids", id, vocabulary));
    return {};
}

std::string_view name_of(SamplerKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::optional<SamplerKind> sampler_kind(std::string_view name) {
    for (std::size_t i = 0; i < kKinds.size(); ++i)
        if (kKinds[i] == name) return static_cast<SamplerKind>(i);
    return std::nullopt;
}

SamplerOptions of_kind(SamplerKind kind, const SamplerOptions& all) {
    if (kind == SamplerKind::mixed) {
        SamplerOptions options = all;
        options.do_sample = true;
        return options;
    }
    SamplerOptions options;
    options.seed = all.seed;
    options.logit_bias = all.logit_bias;
    options.banned_ids = all.banned_ids;
    if (kind == SamplerKind::greedy) return options;
    options.do_sample = true;
    options.temperature = all.temperature;
    switch (kind) {
        case SamplerKind::top_k:
            options.top_k = all.top_k;
            break;
        case SamplerKind::top_p:
            options.top_p = all.top_p;
            break;
        case SamplerKind::min_p:
            options.min_p = all.min_p;
            break;
        case SamplerKind::tfs:
            options.tfs = all.tfs;
            break;
        case SamplerKind::typical:
            options.typical = all.typical;
            break;
        case SamplerKind::penalty:
            options.repetition_penalty = all.repetition_penalty;
            options.presence_penalty = all.presence_penalty;
            options.frequency_penalty = all.frequency_penalty;
            options.no_repeat_ngram_size = all.no_repeat_ngram_size;
            break;
        default:
            break;
    }
    return options;
}

}  // namespace inkstone::generate
