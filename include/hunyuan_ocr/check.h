// Verifies a model package before use: files, configuration, names and shapes of tensors, ids, finite weights, and a
// probe picture through the whole network. What a person with a freshly downloaded folder runs first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "hunyuan_ocr/runtime.h"

namespace hunyuan_ocr {

// One thing that was looked at: "tensors", "probe picture", ...
struct CheckItem {
    std::string name;
    bool passed = true;
    std::string detail;  // what was found; when it failed, what was expected and the remedy
};

struct CheckReport {
    std::vector<CheckItem> items;    // in order; after a failure those that depend on it are left out
    std::string version;             // "1.5", "1.0" or "unknown", told by the configuration
    std::string fingerprint;         // of the weights: 32 hexadecimal digits, the same whatever the sharding or naming
    std::uint64_t memory_bytes = 0;  // that a page of max_pixels needs with kDefaultMaxNewTokens
    bool passed() const;
};

// Never throws for a fault of the package: it is in the report. Throws Error for wrong options, for a thread with less
// stack than kNeededStackBytes, and when cancelled.
HUNYUAN_OCR_API CheckReport check(const std::filesystem::path& model_dir, const RuntimeOptions& options = {},
                                  const CancelToken* cancel = nullptr);

}  // namespace hunyuan_ocr
