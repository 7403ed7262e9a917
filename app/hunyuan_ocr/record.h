// One picture, or the check of a model, as a line of JSON: what --json prints. The only file that knows the JSON
// library is record.cpp.
#pragma once

#include <string>

#include "hunyuan_ocr/check.h"
#include "hunyuan_ocr/runtime.h"

namespace inkstone::app {

// {"file", "text", "tokens", "finish_reason", "image", "profile", "state"} and a newline. Bytes of `file` that are not
// UTF-8 become U+FFFD.
std::string to_json_line(const std::string& file, const hunyuan_ocr::Result& result);

// {"file", "error": {"code", "stage", "subject", "message"}} and a newline.
std::string to_json_line(const std::string& file, const hunyuan_ocr::Error& error);

// {"model", "passed", "items": [{"name", "passed", "detail"}], "version", "fingerprint", "memory_bytes"} and a newline.
std::string to_json_line(const std::string& model, const hunyuan_ocr::CheckReport& report);

}  // namespace inkstone::app
