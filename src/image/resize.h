// Pillow's Image.resize(size, BICUBIC) for 8-bit RGB, bit for bit: antialiased, a horizontal and then a vertical pass
// in 8-bit fixed point. Called by patches.h.
#pragma once

#include "base/cancel.h"
#include "base/result.h"
#include "image/image.h"

namespace inkstone::image {

// The longest side before and after: keeps the arithmetic on a filter's support inside int.
inline constexpr int kMaxResizeSide = 1 << 28;

// Any ratio, up or down, is allowed. Errors: invalid_argument (a side below 1 or above kMaxResizeSide), out_of_memory,
// cancelled.
Result<Image> resize_bicubic(const Image& source, int width, int height, const CancelToken* cancel = nullptr);

}  // namespace inkstone::image
