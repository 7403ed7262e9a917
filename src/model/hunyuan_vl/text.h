// The text decoder and LM head of HunyuanOCR as a graph: token ids, positions and visual rows in, logits out.
#pragma once

#include "base/result.h"
#include "graph/graph.h"
#include "model/hunyuan_vl/config.h"
#include "model/hunyuan_vl/weights.h"

namespace inkstone::model::hunyuan_vl {

// Inputs (generate/decoder.h feeds them): "ids" [token], "positions" [token, 4 axes], "visual" [token] pointers to rows
// that replace embeddings, "logit_rows" [logit] numbers of the rows whose logits are wanted. Output "logits"
// [logit, vocabulary]. Taps: embedded, decoder_layer_first, decoder_layer_last.
Result<graph::Graph> text_graph(const Config& config, const Weights& weights);

}  // namespace inkstone::model::hunyuan_vl
