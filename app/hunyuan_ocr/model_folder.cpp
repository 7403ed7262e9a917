// The named model, or the small default one.
#include "hunyuan_ocr/model_folder.h"

#include "common/default_model.h"
#include "common/messages.h"

namespace inkstone::app {

std::filesystem::path model_folder(const Options& options) {
    if (!options.model_dir.empty()) return options.model_dir;
    const std::filesystem::path folder = default_model();
    if (!options.quiet) {
        say("using " + folder.string() +
            ", a small English demonstration model; for HunyuanOCR give its published folder: --model FOLDER");
    }
    return folder;
}

}  // namespace inkstone::app
