// The public options of generation, with the package's values where there are none, checked; and what a result says of
// them. Used by runtime.cpp.
#pragma once

#include <cstddef>

#include "hunyuan_ocr/runtime.h"
#include "model/hunyuan_vl/config.h"
#include "runtime/engine.h"

namespace inkstone::runtime {

// All but the callbacks and the time limit's flag. Throws hunyuan_ocr::Error (invalid_argument) naming the option. A
// seed that is not given is drawn from the system's chance, and below 2^53, so that every JSON reader keeps it.
AnswerOptions answer_options(const hunyuan_ocr::GenerationOptions& options,
                             const model::hunyuan_vl::GenerationDefaults& defaults, std::size_t vocabulary);

hunyuan_ocr::UsedOptions used_options(const AnswerOptions& options, double time_limit_seconds);

}  // namespace inkstone::runtime
