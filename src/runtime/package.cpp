// Opens the files of a folder in an order that names the most telling failure first.
#include "runtime/package.h"

#include <string>
#include <utility>

#include "format/json.h"

namespace inkstone::runtime {

namespace {

// A folder with inkstone.json holds weights in a format of ours, of which this version reads none.
Status check_format(const std::filesystem::path& folder) {
    std::error_code error;
    // A link that leads nowhere is a file that is missing, not a folder without one.
    if (!std::filesystem::exists(std::filesystem::symlink_status(folder / "inkstone.json", error))) return {};
    INKSTONE_TRY(const format::Json json, format::Json::read(folder / "inkstone.json"));
    INKSTONE_TRY(const std::int64_t version, json.integer("version"));
    return json.error(ErrorCode::unsupported, "version",
                      "is " + std::to_string(version) +
                          ", expected none: this program reads published checkpoint folders only; use the folder that "
                          "the package was made from, or a newer program");
}

}  // namespace

Result<Package> Package::open(const std::filesystem::path& folder) {
    std::error_code error;
    if (!std::filesystem::is_directory(folder, error))
        return Error{
            std::filesystem::exists(folder, error) ? ErrorCode::io : ErrorCode::not_found, "open package",
            folder.string(),
            std::filesystem::exists(folder, error)
                ? "is not a folder; expected a checkpoint folder with config.json and model.safetensors"
                : "does not exist; expected a checkpoint folder with config.json and model.safetensors, or the "
                  "name of a model (tencent/HunyuanOCR) that the Hugging Face hub's cache on this machine "
                  "holds; nothing is downloaded"};
    INKSTONE_CHECK(check_format(folder));
    INKSTONE_TRY(auto config, model::hunyuan_vl::read_config(folder));
    INKSTONE_TRY(auto generation, model::hunyuan_vl::read_generation_defaults(folder, config));
    INKSTONE_TRY(auto preprocessing, model::hunyuan_vl::read_preprocessing(folder, config));
    INKSTONE_TRY(auto tasks, model::hunyuan_vl::Tasks::read(folder));
    INKSTONE_TRY(auto tokenizer, text::Tokenizer::load(folder / "tokenizer.json"));
    if (tokenizer.vocabulary_size() > config.text.vocab_size)
        return Error{ErrorCode::mismatch, "open package", (folder / "tokenizer.json").string(),
                     "has ids up to " + std::to_string(tokenizer.vocabulary_size() - 1) +
                         ", expected less than vocab_size " + std::to_string(config.text.vocab_size) +
                         " of config.json"};
    INKSTONE_TRY(auto prompt_format, model::hunyuan_vl::PromptFormat::of(tokenizer, config));
    INKSTONE_TRY(auto checkpoint, format::Checkpoint::open(folder));
    return Package{std::move(config),    std::move(generation),    std::move(preprocessing), std::move(tasks),
                   std::move(tokenizer), std::move(prompt_format), std::move(checkpoint)};
}

}  // namespace inkstone::runtime
