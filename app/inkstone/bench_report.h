// What bench prints: tables for people, one JSON object for programs.
#pragma once

#include <string>

#include "runtime/bench.h"

namespace inkstone::app {

std::string bench_text(const runtime::BenchReport& report);

// {"machine": {...}, "formats": {"f32": {"decode_tokens_per_s", "decode_bandwidth_share", "prefill_tokens_per_s",
// "gemm_peak_share", ...}}} and a newline. docs/bench.md explains every key.
std::string bench_json(const runtime::BenchReport& report);

}  // namespace inkstone::app
