// Steps that narrow down what may be drawn: temperature, top-k, top-p, min-p. Each leaves at least one candidate, and
// sees the probabilities of what the ones before it left. tails.cpp has the two that look at the shape of the tail.

#include "generate/sampler/step.h"
#include "generate/sampler/tails.h"

namespace inkstone::generate {
namespace {

class Temperature final : public Step {
public:
    explicit Temperature(float temperature) : temperature_(temperature) {}
    void apply(SamplerState& state) const override { state.candidates.divide_scores(temperature_); }

private:
    float temperature_;
};

// The k likeliest; of equal scores at the edge those with the lowest ids.
class TopK final : public Step {
public:
    explicit TopK(std::size_t count) : count_(count) {}
    void apply(SamplerState& state) const override {
        if (count_ >= state.candidates.size()) return;
        state.candidates.likeliest(count_);
        state.candidates.keep_first(count_);
    }

private:
    std::size_t count_;
};

// The fewest likeliest whose probabilities add up to at least p (Holtzman et al. 2019).
class TopP final : public Step {
public:
    explicit TopP(double p) : p_(p) {}
    void apply(SamplerState& state) const override {
        Candidates& candidates = state.candidates;
        candidates.weigh();
        const double wanted = p_ * candidates.total();
        double sum = 0;
        std::size_t kept = 0;
        // Mostly a few are enough: more are sorted only when they are needed.
        for (std::size_t count = 64; sum < wanted && kept < candidates.size(); count *= 4)
            for (const auto sorted = candidates.likeliest(count); sum < wanted && kept < sorted.size(); ++kept)
                sum += sorted[kept].weight;
        candidates.keep_first(kept);
    }

private:
    double p_;
};

// Those whose probability is at least a share of the likeliest's.
class MinP final : public Step {
public:
    explicit MinP(float share) : share_(share) {}
    void apply(SamplerState& state) const override {
        state.candidates.weigh();  // the likeliest has the weight 1
        state.candidates.keep_weights(share_);
    }

private:
    float share_;
};

}  // namespace

Steps filters_of(const SamplerOptions& options) {
    Steps steps;
    if (options.greedy()) return steps;
    if (options.temperature != 1) steps.push_back(std::make_unique<Temperature>(options.temperature));
    if (options.top_k > 0) steps.push_back(std::make_unique<TopK>(options.top_k));
    if (options.top_p < 1) steps.push_back(std::make_unique<TopP>(options.top_p));
    if (options.min_p > 0) steps.push_back(std::make_unique<MinP>(options.min_p));
    if (options.tfs < 1) steps.push_back(tail_free(options.tfs));
    if (options.typical < 1) steps.push_back(typical(options.typical));
    return steps;
}

}  // namespace inkstone::generate
