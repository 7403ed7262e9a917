// The vision tower and merger of HunyuanOCR as a graph: normalised patches in, visual tokens of the text width out.
#pragma once

#include "base/result.h"
#include "graph/graph.h"
#include "model/hunyuan_vl/config.h"
#include "model/hunyuan_vl/weights.h"
#include "module/plan.h"

namespace inkstone::model::hunyuan_vl {

// Input "patches" [patch, channels * patch_size^2]; output "visual" [visual, text hidden]. Taps: patch_embedding,
// vision_layer_first, vision_layer_last, merger. One graph serves every grid.
Result<graph::Graph> vision_graph(const Config& config, const Weights& weights);

// Rows of each class for an image of this grid (both sides multiples of the merge size).
module::RowCounts vision_rows(const Config& config, std::size_t grid_height, std::size_t grid_width);

}  // namespace inkstone::model::hunyuan_vl
