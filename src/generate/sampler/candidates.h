// The ids that may still be drawn: what the filters narrow down, step by step, and the draw takes one of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace inkstone::generate {

struct Candidate {
    float score;   // relative to the highest of the row; at most 0
    float weight;  // exp(score), after weigh(): not normalised, 1 for the likeliest
    std::int32_t id;
};

// Whether a comes before b: the likelier first, the lower id among equals.
inline bool likelier(const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.id < b.id;
}

class Candidates {
public:
    // So that gathering a row of this many scores allocates nothing.
    void reserve(std::size_t vocabulary) { items_.reserve(vocabulary); }

    // Takes every id whose score is above minus infinity. `highest` is the highest score of the row, finite.
    void gather(std::span<const float> logits, float highest);

    std::size_t size() const { return items_.size(); }
    std::span<const Candidate> all() const { return items_; }

    // Divides all scores; before weigh().
    void divide_scores(float divisor);
    // Computes weights, once; cheap when called again.
    void weigh();
    // The sum of all weights. After weigh().
    double total() const;

    // Puts the `count` likeliest first, in order, and gives them; costs less than sorting all when count is small.
    std::span<const Candidate> likeliest(std::size_t count);
    // Puts all in the order of `before`, a strict order without ties.
    void sort_by(bool (*before)(const Candidate&, const Candidate&, double), double parameter);

    // Keep the first ones in the present order, or those whose weight is at least `least`. One always remains: of none
    // the likeliest.
    void keep_first(std::size_t count);
    void keep_weights(float least);

    // The id at which the running sum of weights, in the order of ids, passes uniform (in [0, 1)) times the total.
    std::int32_t draw(double uniform);

private:
    std::vector<Candidate> items_;
    std::size_t sorted_ = 0;  // this many likeliest stand first, in order
    bool by_id_ = true, weighed_ = false;
};

}  // namespace inkstone::generate
