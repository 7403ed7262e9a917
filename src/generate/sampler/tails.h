// The two filters that look at the shape of a distribution's tail. They sort all candidates: top-k or min-p before them
// makes that cheap.
#pragma once

#include <memory>

#include "generate/sampler/step.h"

namespace inkstone::generate {

// Tail free sampling (Phenix and Egan 2019): of the sorted probabilities the absolute second differences, normalised to
// 1, are added up; candidates are kept as long as the sum is at most z. Fewer than three are all kept.
std::unique_ptr<const Step> tail_free(double z);

// Locally typical sampling (Meister et al. 2022): candidates in the order of how far their information -log p is from
// the distribution's entropy, the fewest that together have probability `mass`.
std::unique_ptr<const Step> typical(double mass);

}  // namespace inkstone::generate
