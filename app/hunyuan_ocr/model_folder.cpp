// Where the small default model lies, told from where the program lies.
#include "hunyuan_ocr/model_folder.h"

#include <array>
#include <system_error>

namespace inkstone::app {

std::optional<std::filesystem::path> find_default_model() {
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    const std::array candidates{
        program.parent_path().parent_path() / "share/inkstone/models/nano",
        std::filesystem::path(INKSTONE_SOURCE_MODEL),
    };
    for (const auto& candidate : candidates) {
        if (std::filesystem::is_regular_file(candidate / "config.json", error)) return candidate;
    }
    return std::nullopt;
}

}  // namespace inkstone::app
