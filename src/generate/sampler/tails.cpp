// Tail free and locally typical sampling.
#include "generate/sampler/tails.h"

#include <cmath>

namespace inkstone::generate {
namespace {

class TailFree final : public Step {
public:
    explicit TailFree(double z) : z_(z) {}
    void apply(SamplerState& state) const override {
        Candidates& candidates = state.candidates;
        if (candidates.size() < 3) return;
        candidates.weigh();
        const auto sorted = candidates.likeliest(candidates.size());
        // Weights are probabilities up to one factor, which normalising takes out.
        const auto curvature = [&](std::size_t i) {
            return std::abs(double{sorted[i].weight} - 2 * double{sorted[i + 1].weight} + double{sorted[i + 2].weight});
        };
        double total = 0;
        for (std::size_t i = 0; i + 2 < sorted.size(); ++i) total += curvature(i);
        if (total == 0) return;  // a straight line has no tail
        double sum = 0;
        for (std::size_t i = 0; i + 2 < sorted.size(); ++i) {
            sum += curvature(i);
            if (sum > z_ * total) {
                candidates.keep_first(i);
                return;
            }
        }
    }

private:
    double z_;
};

// log p is score - log total, so the distance of -log p from the entropy log total - mean needs no logarithm: it is
// |mean - score|, the mean being that of scores under p.
bool more_typical(const Candidate& a, const Candidate& b, double mean) {
    const double distance_a = std::abs(mean - a.score), distance_b = std::abs(mean - b.score);
    return distance_a != distance_b ? distance_a < distance_b : likelier(a, b);
}

class Typical final : public Step {
public:
    explicit Typical(double mass) : mass_(mass) {}
    void apply(SamplerState& state) const override {
        Candidates& candidates = state.candidates;
        candidates.weigh();
        const double total = candidates.total();
        double mean = 0;
        for (const Candidate& item : candidates.all())
            if (item.weight > 0) mean += double{item.weight} * item.score;
        candidates.sort_by(more_typical, mean / total);
        double sum = 0;
        std::size_t kept = 0;
        while (kept < candidates.size() && sum < mass_ * total) sum += candidates.all()[kept++].weight;
        candidates.keep_first(kept);
    }

private:
    double mass_;
};

}  // namespace

std::unique_ptr<const Step> tail_free(double z) { return std::make_unique<TailFree>(z); }
std::unique_ptr<const Step> typical(double mass) { return std::make_unique<Typical>(mass); }

}  // namespace inkstone::generate
