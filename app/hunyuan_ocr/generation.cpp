// Reads the values of the options of generation. Ranges are those of the library, so that a value is refused before the
// model is loaded; ids are compared with the vocabulary once it is.
#include "hunyuan_ocr/generation.h"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "common/values.h"

namespace inkstone::app {
namespace {

constexpr std::int64_t kMostTokens = std::numeric_limits<std::int32_t>::max();

UsageError refused(const std::string& option, const std::string& value, const std::string& expected) {
    return {option + " " + value + " is not " + expected};
}

// Reads given values one after another; remembers the first that does not fit.
class Reader {
public:
    explicit Reader(const RawGeneration& raw) : raw_(raw) {}

    // The text of an option, or null when it was not given.
    const std::string* given(std::string_view name) const {
        const auto found = raw_.find(name);
        return found == raw_.end() || found->second.empty() ? nullptr : &found->second;
    }

    void refuse(const std::string& option, const std::string& value, const std::string& expected) {
        if (!error_) error_ = refused(option, value, expected);
    }

    template <class Integer>
    void integer(const char* name, std::int64_t least, std::int64_t most, std::optional<Integer>& target) {
        const std::string* text = given(name);
        if (!text) return;
        const auto value = parse_integer(*text, least, most);
        if (value) target = static_cast<Integer>(*value);
        if (!value) refuse(name, *text, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    }

    // From least to most, or above least when it is excluded.
    std::optional<float> decimal(const char* name, float least, float most, bool excluded, const char* expected) {
        const std::string* text = given(name);
        if (!text) return std::nullopt;
        const auto value = parse_decimal(*text);
        if (value && (excluded ? *value > least : *value >= least) && *value <= most) return value;
        refuse(name, *text, expected);
        return std::nullopt;
    }
    std::optional<float> share(const char* name) {
        return decimal(name, 0, 1, true, "a number above 0 and at most 1 (1 is off)");
    }

    // The parts between commas, each read by `read`, which says whether it fits.
    template <class Read>
    void list(const char* name, const char* expected, Read read) {
        const std::string* text = given(name);
        if (!text) return;
        for (std::string_view rest = *text;;) {
            const std::size_t comma = rest.find(',');
            if (!read(rest.substr(0, comma))) return refuse(name, *text, expected);
            if (comma == std::string_view::npos) return;
            rest.remove_prefix(comma + 1);
        }
    }

    std::optional<UsageError> error() { return std::move(error_); }

private:
    const RawGeneration& raw_;
    std::optional<UsageError> error_;
};

std::optional<std::int32_t> parse_id(std::string_view text) {
    const auto id = parse_integer(text, 0, kMostTokens);
    return id ? std::optional(static_cast<std::int32_t>(*id)) : std::nullopt;
}

}  // namespace

std::optional<UsageError> take_generation(const RawGeneration& raw, hunyuan_ocr::GenerationOptions& options) {
    Reader reader(raw);
    reader.integer("--max-new-tokens", 1, kMostTokens, options.max_new_tokens);
    reader.integer("--top-k", 0, kMostTokens, options.top_k);
    reader.integer("--no-repeat-ngram-size", 0, kMostTokens, options.no_repeat_ngram_size);
    reader.integer("--seed", 0, std::numeric_limits<std::int64_t>::max(), options.seed);
    options.temperature = reader.decimal("--temperature", 0, 100, false, "a number from 0 (greedy) to 100");
    options.top_p = reader.share("--top-p");
    options.min_p = reader.decimal("--min-p", 0, 1, false, "a number from 0 (off) to 1");
    options.tfs = reader.share("--tfs");
    options.typical = reader.share("--typical");
    options.repetition_penalty =
        reader.decimal("--repetition-penalty", 1e-3F, 1e3F, false, "a number from 0.001 to 1000 (1 is none)");
    constexpr const char* kCountPenalty = "a number from -100 to 100 (0 is none)";
    options.presence_penalty = reader.decimal("--presence-penalty", -100, 100, false, kCountPenalty).value_or(0);
    options.frequency_penalty = reader.decimal("--frequency-penalty", -100, 100, false, kCountPenalty).value_or(0);
    options.time_limit_seconds =
        reader.decimal("--time-limit", 0, std::numeric_limits<float>::max(), true, "a number of seconds above 0")
            .value_or(0);
    reader.list("--logit-bias", "a list of ID=X: ids and numbers (12=-3,40=1.5)", [&](std::string_view part) {
        const std::size_t equals = part.find('=');
        if (equals == std::string_view::npos) return false;
        const auto id = parse_id(part.substr(0, equals));
        const auto bias = parse_decimal(part.substr(equals + 1));
        if (id && bias) options.logit_bias.emplace_back(*id, *bias);
        return id && bias;
    });
    reader.list("--banned-ids", "a list of ids (12,40)", [&](std::string_view part) {
        const auto id = parse_id(part);
        if (id) options.banned_ids.push_back(*id);
        return id.has_value();
    });
    return reader.error();
}

}  // namespace inkstone::app
