// In which arithmetic and from which storage the products of a module really run: what profiles tell.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "module/module.h"

namespace inkstone::module {

// Of the products in the stages that `chosen` names: "bf16 arithmetic, bf16 weights", "f32 arithmetic, bf16+f32
// weights" (most bytes first), "int8 arithmetic, q8 weights", "bf16 arithmetic, bf16 weights (rounded)" when bf16 does
// not hold some of them exactly.
std::string describe_products(const Module& module, const std::function<bool(std::string_view stage)>& chosen);

}  // namespace inkstone::module
