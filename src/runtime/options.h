// Public options as the engine takes them, checked. Shared by the runtime and the check of a package.
#pragma once

#include "hunyuan_ocr/runtime.h"
#include "runtime/engine.h"

namespace inkstone::runtime {

// Throws hunyuan_ocr::Error (invalid_argument) naming the option. Borrows options.on_progress.
EngineOptions engine_options(const hunyuan_ocr::RuntimeOptions& options);

// The folder itself, or the hub cache's snapshot of a name that is no folder.
std::filesystem::path resolve_model(const std::filesystem::path& model_dir);

// Throws hunyuan_ocr::Error (out_of_memory) when this thread has less stack left than a call may need.
void require_stack(const char* stage);

// Throws the error as the public type.
[[noreturn]] void raise(Error error);

template <class T>
T value_or_throw(Result<T> result) {
    if (!result) raise(std::move(result).error());
    return std::move(result).value();
}

}  // namespace inkstone::runtime
