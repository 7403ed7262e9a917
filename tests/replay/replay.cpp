// inkstone-replay: what the engine computes at each stage, written to safetensors files for comparison with the
// official implementation. tools/validation/replay.py starts it; tests/golden/README.md says what the tensors are.
//     inkstone-replay stages  --model FOLDER --output FOLDER [--prompt TEXT] PICTURE...
//     inkstone-replay lm-head --model FOLDER --output FILE --hidden FILE
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "format/safetensors.h"
#include "image/decode.h"
#include "model/hunyuan_vl/text.h"
#include "runtime/engine.h"

namespace inkstone {
namespace {

namespace model = model::hunyuan_vl;

struct Arguments {
    std::filesystem::path model, output, hidden;
    std::vector<std::filesystem::path> pictures;
    std::string prompt = "Extract the text in the image.";
    int threads = 1;
    std::size_t max_new_tokens = 0;
    float repetition_penalty = 1;
    bool vision_only = false;
};

// Named tensors that own their values until they are written.
class Recording {
public:
    void add(const std::string& name, std::span<const float> values, std::size_t width) {
        add_bytes(name, tensor::DataType::f32, std::as_bytes(values), {values.size() / width, width});
    }
    void add(const std::string& name, std::span<const std::int32_t> values, std::size_t width) {
        add_bytes(name, tensor::DataType::i32, std::as_bytes(values), {values.size() / width, width});
    }
    Status write(const std::filesystem::path& path) const {
        std::vector<format::NamedTensor> tensors;
        for (const Entry& entry : entries_)
            tensors.push_back({entry.name, {entry.type, entry.shape, std::span<const std::byte>(entry.bytes)}});
        return format::write_safetensors(path, tensors);
    }

private:
    struct Entry {
        std::string name;
        tensor::DataType type;
        tensor::Shape shape;
        std::vector<std::byte> bytes;
    };
    void add_bytes(const std::string& name, tensor::DataType type, std::span<const std::byte> bytes,
                   tensor::Shape shape) {
        entries_.push_back({name, type, shape, {bytes.begin(), bytes.end()}});
    }
    std::vector<Entry> entries_;
};

const std::vector<std::string> kVisionTaps = {"patch_embedding", "vision_layer_first", "vision_layer_last"};
const std::vector<std::string> kTextTaps = {"embedded", "decoder_layer_first", "decoder_layer_last"};

std::span<const float> tap_values(const module::Session& session, const std::string& name, std::size_t rows) {
    const graph::Graph& graph = session.module().graph();
    const graph::Value tap = graph.taps.at(name);
    return {session.value(tap), rows * graph.values[tap.index].width};
}

// The whole prompt through the decoder, in chunks as the engine's own prefill does it; a tap holds one chunk's rows.
Status record_decoder(runtime::Engine& engine, const model::PromptTokens& prompt, const std::vector<float>& visual,
                      Recording& recording) {
    generate::Decoder& decoder = engine.decoder();
    const std::size_t axes = engine.package().config.text.mrope_section.size();
    const std::size_t width = engine.package().config.text.hidden_size;
    module::KvPool pool(engine.backend(), decoder.session().module().graph().kv);
    generate::Sequence sequence(pool, axes);
    sequence.append(prompt.ids, prompt.positions);
    sequence.set_visual(prompt.image_offsets.at(0), visual.size() / width, visual.data(), width);
    std::vector<std::vector<float>> taps(kTextTaps.size());
    while (sequence.cached() < sequence.size()) {
        const std::size_t rows = std::min(generate::Decoder::kMaximumRows, sequence.size() - sequence.cached());
        const bool last = sequence.cached() + rows == sequence.size();
        const generate::StepRows step{&sequence, rows, last ? std::size_t{1} : std::size_t{0}};
        INKSTONE_CHECK(decoder.step({&step, 1}));
        for (std::size_t i = 0; i < taps.size(); ++i) {
            const auto values = tap_values(decoder.session(), kTextTaps[i], rows);
            taps[i].insert(taps[i].end(), values.begin(), values.end());
        }
    }
    for (std::size_t i = 0; i < taps.size(); ++i) recording.add(kTextTaps[i], taps[i], width);
    recording.add("logits", decoder.logits(0), decoder.vocabulary());
    recording.add("positions", prompt.positions, axes);
    recording.add("input_ids", prompt.ids, prompt.ids.size());
    return {};
}

Result<Recording> record_page(runtime::Engine& engine, const std::filesystem::path& path, const Arguments& arguments) {
    const runtime::Package& package = engine.package();
    Recording recording;
    INKSTONE_TRY(image::Image picture, image::decode_file(path));
    INKSTONE_TRY(const image::Patches patches, image::preprocess(picture, package.preprocessing));
    const model::ImageGrid grid{static_cast<std::size_t>(patches.grid_height),
                                static_cast<std::size_t>(patches.grid_width)};
    const std::size_t count = grid.height * grid.width;
    recording.add("grid", std::vector<std::int32_t>{patches.grid_height, patches.grid_width}, 2);
    recording.add("pixels", patches.values, patches.values.size() / count);
    std::vector<float> visual;
    INKSTONE_CHECK(engine.run_vision(patches, visual));
    for (const std::string& tap : kVisionTaps) {
        const auto values = tap_values(engine.vision_session(), tap, count);
        recording.add(tap, values, values.size() / count);
    }
    recording.add("merger", visual, package.config.text.hidden_size);
    if (arguments.vision_only) return recording;

    INKSTONE_TRY(const auto prompt, model::build_prompt(package.config, package.prompt_format, package.tokenizer, {},
                                                        {grid}, arguments.prompt));
    INKSTONE_CHECK(record_decoder(engine, prompt, visual, recording));
    if (arguments.max_new_tokens == 0) return recording;

    runtime::AnswerOptions options;
    options.max_new_tokens = arguments.max_new_tokens;
    options.sampler.repetition_penalty = arguments.repetition_penalty;
    runtime::Request request{{}, {}, arguments.prompt};
    request.images.push_back(std::move(picture));
    INKSTONE_TRY(const runtime::Answer answer, engine.recognize(std::move(request), options));
    recording.add("ids", answer.generated.ids, std::max<std::size_t>(answer.generated.ids.size(), 1));
    return recording;
}

Status run_stages(const Arguments& arguments) {
    runtime::EngineOptions options;
    options.threads = arguments.threads;
    options.vision_taps = kVisionTaps;
    options.text_taps = kTextTaps;
    INKSTONE_TRY(const auto engine, runtime::Engine::load(arguments.model, options));
    for (const std::filesystem::path& picture : arguments.pictures) {
        INKSTONE_TRY(const Recording recording, record_page(*engine, picture, arguments));
        INKSTONE_CHECK(recording.write(arguments.output / picture.stem().concat(".safetensors")));
    }
    return {};
}

// Given hidden rows (after the final norm) through the head alone.
Status run_lm_head(const Arguments& arguments) {
    INKSTONE_TRY(const runtime::Package package, runtime::Package::open(arguments.model));
    INKSTONE_TRY(const format::Safetensors file, format::Safetensors::open(arguments.hidden));
    const std::size_t width = package.config.text.hidden_size;
    const tensor::TensorView* view = file.find("hidden");
    if (view == nullptr || view->shape.rank() != 2 || view->shape[1] != width || view->shape[0] == 0)
        return Error{ErrorCode::mismatch, "read hidden rows", arguments.hidden.string(),
                     view == nullptr ? "has no tensor \"hidden\""
                                     : "has the shape " + to_string(view->shape) + ", expected [rows, " +
                                           std::to_string(width) + "]"};
    INKSTONE_TRY(const std::vector<float> hidden, tensor::to_float(*view, "hidden"));
    const std::size_t rows = hidden.size() / width;

    INKSTONE_TRY(const auto weights, model::Weights::open(package.checkpoint, package.config));
    graph::Builder builder;
    const graph::Value input = builder.input("hidden", ops::Rows::logit, width);
    builder.stage("lm_head");
    const auto head = weights.matrix(builder, "model.language_model.embed_tokens.weight");
    builder.output("logits", builder.linear(input, head));
    INKSTONE_TRY(graph::Graph graph, std::move(builder).finish());
    const graph::Value output = graph.outputs.at("logits");
    const std::size_t vocabulary = graph.values[output.index].width;

    INKSTONE_TRY(const auto backend, backend::cpu::CpuBackend::create(backend::cpu::best_set(), arguments.threads));
    INKSTONE_TRY(auto module, module::Module::create(std::move(graph), *backend));
    INKSTONE_TRY(const auto session, module::Session::create(std::move(module)));
    session->bind(input, hidden.data());
    module::RowCounts counts{};
    counts[static_cast<std::size_t>(ops::Rows::logit)] = rows;
    INKSTONE_CHECK(session->run(counts, {}, {}));
    Recording recording;
    recording.add("logits", std::span<const float>(session->value(output), rows * vocabulary), vocabulary);
    return recording.write(arguments.output);
}

}  // namespace
}  // namespace inkstone

int main(int count, char** values) {
    inkstone::Arguments arguments;
    CLI::App app("Writes what the engine computes at each stage, for tools/validation/replay.py.");
    app.require_subcommand(1);
    CLI::App* stages = app.add_subcommand("stages", "every stage of each picture, to OUTPUT/NAME.safetensors");
    CLI::App* lm_head = app.add_subcommand("lm-head", "given hidden rows through the LM head");
    for (CLI::App* command : {stages, lm_head}) {
        command->add_option("--model", arguments.model, "checkpoint folder")->required();
        command->add_option("--output", arguments.output, "what to write")->required();
        command->add_option("--threads", arguments.threads);
    }
    stages->add_option("--prompt", arguments.prompt);
    stages->add_option("--max-new-tokens", arguments.max_new_tokens, "also greedy ids (0: none)");
    stages->add_option("--repetition-penalty", arguments.repetition_penalty);
    stages->add_flag("--vision-only", arguments.vision_only, "no decoder");
    stages->add_option("pictures", arguments.pictures)->required();
    lm_head->add_option("--hidden", arguments.hidden, "safetensors with \"hidden\" [rows, hidden]")->required();
    CLI11_PARSE(app, count, values);

    const inkstone::Status status =
        stages->parsed() ? inkstone::run_stages(arguments) : inkstone::run_lm_head(arguments);
    if (status) return 0;
    std::fprintf(stderr, "inkstone-replay: %s\n", status.error().text().c_str());
    return 1;
}
