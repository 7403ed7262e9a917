// Runs the library's check and prints its report.
#include "hunyuan_ocr/check_package.h"

#include <string>

#include "common/signals.h"
#include "hunyuan_ocr/check.h"
#include "hunyuan_ocr/model_folder.h"
#include "hunyuan_ocr/record.h"

namespace inkstone::app {
namespace {

std::string line_of(const hunyuan_ocr::CheckItem& item) {
    return (item.passed ? "ok      " : "FAILED  ") + item.name + ": " + item.detail + "\n";
}

}  // namespace

Exit check_package(const Options& options, Output& output, ProgressLine& progress) {
    const std::filesystem::path folder = model_folder(options);
    hunyuan_ocr::RuntimeOptions runtime_options = options.runtime;
    runtime_options.cancel = &cancel_token();
    runtime_options.on_progress = [&](const hunyuan_ocr::Progress& step) { progress.show("check", step); };
    const hunyuan_ocr::CheckReport report = hunyuan_ocr::check(folder, runtime_options, &cancel_token());
    progress.clear();
    if (options.json) {
        output.write(to_json_line(folder.string(), report));
    } else {
        for (const hunyuan_ocr::CheckItem& item : report.items) {
            if (!options.quiet || !item.passed) output.write(line_of(item));
        }
    }
    if (report.passed()) return Exit::success;
    for (const hunyuan_ocr::CheckItem& item : report.items) {
        if (!item.passed) say(one_line("check: " + folder.string() + ": " + item.name + ": " + item.detail));
    }
    return Exit::check_failed;
}

}  // namespace inkstone::app
