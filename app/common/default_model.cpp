// Looks beside the program, then where it was built.
#include "common/default_model.h"

#include <array>
#include <system_error>

#include "hunyuan_ocr/runtime.h"

namespace inkstone::app {

std::filesystem::path default_model() {
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    const std::array candidates{
        program.parent_path().parent_path() / "share/inkstone/models/nano",
        std::filesystem::path(INKSTONE_SOURCE_MODEL),
    };
    for (const auto& candidate : candidates) {
        if (std::filesystem::is_regular_file(candidate / "config.json", error)) return candidate;
    }
    throw hunyuan_ocr::Error(hunyuan_ocr::ErrorCode::not_found, "find model", "models/nano",
                             "the small default model is not beside the program; name a folder");
}

}  // namespace inkstone::app
