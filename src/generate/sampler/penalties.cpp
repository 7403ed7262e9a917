// Steps that change scores before a choice: repetition, presence and frequency, n-grams, bias, banned ids.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "generate/sampler/step.h"

namespace inkstone::generate {
namespace {

// A NaN stays one: it is an error of the model, which select reports.
void ban(float& score) {
    if (!std::isnan(score)) score = -std::numeric_limits<float>::infinity();
}

// The reference's (Keskar et al. 2019): scores of ids in prompt or answer, visual placeholders too, are divided by the
// penalty if positive and multiplied by it if not.
class RepetitionPenalty final : public Step {
public:
    explicit RepetitionPenalty(float penalty) : penalty_(penalty) {}
    void apply(SamplerState& state) const override {
        for (const std::int32_t id : state.history.seen()) {
            float& score = state.logits[static_cast<std::size_t>(id)];
            score = score < 0 ? score * penalty_ : score / penalty_;
        }
    }

private:
    float penalty_;
};

// Scores of ids in the answer lose `presence`, and `frequency` for each time that they stand there.
class CountPenalty final : public Step {
public:
    CountPenalty(float presence, float frequency) : presence_(presence), frequency_(frequency) {}
    void apply(SamplerState& state) const override {
        for (const std::int32_t id : state.history.seen()) {
            const std::uint32_t count = state.history.answered(id);
            if (count > 0)
                state.logits[static_cast<std::size_t>(id)] -= presence_ + frequency_ * static_cast<float>(count);
        }
    }

private:
    float presence_, frequency_;
};

// Bans what would complete a run of `size` ids that stands in prompt or answer already.
class NoRepeatNgram final : public Step {
public:
    explicit NoRepeatNgram(std::size_t size) : size_(size) {}
    void apply(SamplerState& state) const override {
        const auto ids = state.ids;
        if (ids.size() + 1 < size_) return;
        const auto begun = ids.last(size_ - 1);
        for (std::size_t next = size_ - 1; next < ids.size(); ++next)
            if (std::ranges::equal(ids.subspan(next + 1 - size_, size_ - 1), begun))
                ban(state.logits[static_cast<std::size_t>(ids[next])]);
    }

private:
    std::size_t size_;
};

class Bias final : public Step {
public:
    explicit Bias(std::vector<std::pair<std::int32_t, float>> bias) : bias_(std::move(bias)) {}
    void apply(SamplerState& state) const override {
        for (const auto& [id, bias] : bias_) state.logits[static_cast<std::size_t>(id)] += bias;
    }

private:
    std::vector<std::pair<std::int32_t, float>> bias_;
};

class BannedIds final : public Step {
public:
    explicit BannedIds(std::vector<std::int32_t> ids) : ids_(std::move(ids)) {}
    void apply(SamplerState& state) const override {
        for (const std::int32_t id : ids_) ban(state.logits[static_cast<std::size_t>(id)]);
    }

private:
    std::vector<std::int32_t> ids_;
};

}  // namespace

Steps penalties_of(const SamplerOptions& options) {
    Steps steps;
    if (options.repetition_penalty != 1)
        steps.push_back(std::make_unique<RepetitionPenalty>(options.repetition_penalty));
    if (options.presence_penalty != 0 || options.frequency_penalty != 0)
        steps.push_back(std::make_unique<CountPenalty>(options.presence_penalty, options.frequency_penalty));
    if (options.no_repeat_ngram_size > 0)
        steps.push_back(std::make_unique<NoRepeatNgram>(options.no_repeat_ngram_size));
    if (!options.logit_bias.empty()) steps.push_back(std::make_unique<Bias>(options.logit_bias));
    if (!options.banned_ids.empty()) steps.push_back(std::make_unique<BannedIds>(options.banned_ids));
    return steps;
}

}  // namespace inkstone::generate
