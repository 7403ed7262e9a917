// Sorting as far as it is asked for, and the draw by inverse distribution function.
#include "generate/sampler/candidates.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "base/elementary.h"

namespace inkstone::generate {
namespace {

// Below it exp is zero or denormal: never drawn.
constexpr float kLeastExponent = -87;

bool lower_id(const Candidate& a, const Candidate& b) { return a.id < b.id; }

}  // namespace

void Candidates::gather(std::span<const float> logits, float highest) {
    items_.clear();
    sorted_ = 0;
    by_id_ = true;
    weighed_ = false;
    constexpr float kNever = -std::numeric_limits<float>::infinity();
    for (std::size_t id = 0; id < logits.size(); ++id)
        if (logits[id] > kNever) items_.push_back({logits[id] - highest, 0, static_cast<std::int32_t>(id)});
}

void Candidates::divide_scores(float divisor) {
    assert(!weighed_);
    for (Candidate& item : items_) item.score /= divisor;
}

void Candidates::weigh() {
    if (weighed_) return;
    weighed_ = true;
    for (Candidate& item : items_) item.weight = item.score < kLeastExponent ? 0 : inkstone::exp(item.score);
}

double Candidates::total() const {
    assert(weighed_);
    double sum = 0;
    for (const Candidate& item : items_) sum += item.weight;
    return sum;
}

std::span<const Candidate> Candidates::likeliest(std::size_t count) {
    count = std::min(count, items_.size());
    if (count > sorted_) {
        // Selecting by a heap beats sorting while few are asked for.
        constexpr std::size_t kHeapShare = 8;
        if (count >= items_.size() / kHeapShare) count = items_.size();
        const auto begin = items_.begin() + static_cast<std::ptrdiff_t>(sorted_);
        std::partial_sort(begin, items_.begin() + static_cast<std::ptrdiff_t>(count), items_.end(), likelier);
        sorted_ = count;
        by_id_ = false;
    }
    return std::span(items_).first(sorted_);
}

void Candidates::sort_by(bool (*before)(const Candidate&, const Candidate&, double), double parameter) {
    std::ranges::sort(items_, [&](const Candidate& a, const Candidate& b) { return before(a, b, parameter); });
    sorted_ = 0;
    by_id_ = false;
}

void Candidates::keep_first(std::size_t count) {
    items_.resize(std::clamp<std::size_t>(count, 1, items_.size()));
    sorted_ = std::min(sorted_, items_.size());
}

void Candidates::keep_weights(float least) {
    assert(weighed_);
    const Candidate best = *std::ranges::min_element(items_, likelier);
    // Order is kept, and so are the likeliest at the front: what is dropped of them is their end.
    std::erase_if(items_, [&](const Candidate& item) { return item.weight < least; });
    if (items_.empty()) items_.push_back(best);
    sorted_ = std::min(sorted_, items_.size());
}

std::int32_t Candidates::draw(double uniform) {
    assert(!items_.empty());
    weigh();
    if (!by_id_) {
        std::ranges::sort(items_, lower_id);
        by_id_ = true;
        sorted_ = 0;
    }
    const double wanted = uniform * total();
    double sum = 0;
    std::int32_t last = std::ranges::min_element(items_, likelier)->id;
    for (const Candidate& item : items_) {
        if (item.weight == 0) continue;
        last = item.id;
        sum += item.weight;
        if (sum > wanted) break;
    }
    return last;
}

}  // namespace inkstone::generate
