// Where the small default model lies, told from where the program lies.
#include "hunyuan_ocr/model_folder.h"

#include <array>
#include <optional>
#include <system_error>

#include "hunyuan_ocr/report.h"

namespace inkstone::app {
namespace {

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

}  // namespace

std::filesystem::path model_folder(const Options& options) {
    if (!options.model_dir.empty()) return options.model_dir;
    const auto folder = find_default_model();
    if (!folder) {
        throw hunyuan_ocr::Error(hunyuan_ocr::ErrorCode::not_found, "find model", "models/nano",
                                 "the small default model is not beside the program; name a folder with --model");
    }
    if (!options.quiet) {
        say("using " + folder->string() +
            ", a small English demonstration model; for HunyuanOCR give its published folder: --model FOLDER");
    }
    return *folder;
}

}  // namespace inkstone::app
