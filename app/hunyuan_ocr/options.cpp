// The command line: names, help and values of every option. Wraps CLI11, which splits arguments into options and the
// rest; values stay text there and are read here, so that every refusal names the option, what was found and what fits.
#include "hunyuan_ocr/options.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>

#include <CLI/CLI.hpp>

#include "common/exit_status.h"
#include "common/values.h"
#include "hunyuan_ocr/generation.h"
#include "hunyuan_ocr/later.h"
#include "hunyuan_ocr/precision.h"

namespace inkstone::app {
namespace {

constexpr std::string_view kCheckSubcommand = "check";
// What check has no use for.
constexpr std::array kRequestOptions{"--background",
                                     "--task",
                                     "--prompt",
                                     "--system",
                                     "--max-new-tokens",
                                     "--do-sample",
                                     "--temperature",
                                     "--top-k",
                                     "--top-p",
                                     "--min-p",
                                     "--tfs",
                                     "--typical",
                                     "--seed",
                                     "--presence-penalty",
                                     "--frequency-penalty",
                                     "--no-repeat-ngram-size",
                                     "--logit-bias",
                                     "--banned-ids",
                                     "--stop",
                                     "--time-limit",
                                     "--repetition-guard",
                                     "--strategy",
                                     "--lookahead",
                                     "--block-size",
                                     "--repetition-penalty",
                                     "--stats",
                                     "--verbose",
                                     "--list-tasks"};
constexpr const char* kModelVariable = "HUNYUAN_OCR_MODEL";
constexpr std::int64_t kMostThreads = 1024;

UsageError refused(std::string message) { return UsageError{std::move(message)}; }

// The values that one option takes in this version, and those that it will take later.
template <class T, std::size_t Count>
struct Choice {
    std::string_view name;
    std::array<std::pair<std::string_view, T>, Count> values;
    std::span<const std::string_view> later;

    std::variant<T, UsageError> parse(std::string_view text) const {
        std::vector<std::string_view> names;
        for (const auto& [value_name, value] : values) {
            if (value_name == text) return value;
            names.push_back(value_name);
        }
        const std::string found = std::string(name) + " " + std::string(text);
        if (std::find(later.begin(), later.end(), text) != later.end())
            return refused(found + " is not in this version, which has: " + join(names));
        return refused(found + " is not known; this version has: " + join(names));
    }
};

const Choice<hunyuan_ocr::Backend, 1> kBackends{"--backend", {{{"cpu", hunyuan_ocr::Backend::cpu}}}, kLaterBackends};
const Choice<hunyuan_ocr::Strategy, 2> kStrategies{
    "--strategy",
    {{{"ar", hunyuan_ocr::Strategy::ar}, {"lookahead", hunyuan_ocr::Strategy::lookahead}}},
    kLaterStrategies};
const Choice<hunyuan_ocr::InstructionSet, 7> kInstructionSets{
    "--instruction-set",
    {{{"auto", hunyuan_ocr::InstructionSet::automatic},
      {"reference", hunyuan_ocr::InstructionSet::reference},
      {"portable", hunyuan_ocr::InstructionSet::portable},
      {"avx2", hunyuan_ocr::InstructionSet::avx2},
      {"avx512", hunyuan_ocr::InstructionSet::avx512},
      {"avx512_vnni", hunyuan_ocr::InstructionSet::avx512_vnni},
      {"avx512_bf16", hunyuan_ocr::InstructionSet::avx512_bf16}}},
    {}};

const Choice<bool, 2> kRepetitionGuard{"--repetition-guard", {{{"on", true}, {"off", false}}}, {}};

// Values as they were given; empty: not given.
struct RawOptions {
    std::string model, backend, threads, precision, memory_limit, min_pixels, max_pixels, background, task, prompt,
        system, repetition_guard, strategy, block_size, instruction_set, output;
    RawGeneration generation;
    std::vector<std::string> stop;
    bool do_sample = false;
    bool lookahead = false, json = false, stats = false, verbose = false, quiet = false, list_tasks = false,
         version = false, help = false;
};

void declare(CLI::App& app, RawOptions& raw) {
    app.set_help_flag();
    app.allow_extras();  // pictures and unknown options are told apart below
    const auto value = [&](const char* name, std::string& target, const char* kind, const char* help,
                           const char* group) { app.add_option(name, target, help)->option_text(kind)->group(group); };
    value("--model", raw.model, "FOLDER",
          "a HunyuanOCR checkpoint as published, or the name of one in the Hugging\n"
          "Face hub's cache, tencent/HunyuanOCR (default: the variable\n"
          "HUNYUAN_OCR_MODEL, else a small English model)",
          "Model");
    value("--backend", raw.backend, "cpu", "what computes", "Model");
    value("--precision", raw.precision, "f32",
          "arithmetic: f32 (default) follows the official implementation, bf16 is\n"
          "faster, q8 and q4 smaller too; of parts:\n"
          "vision=bf16,decoder=q8,head=q8,kv=f32",
          "Model");
    value("--threads", raw.threads, "N", "threads (default: physical cores)", "Model");
    value("--instruction-set", raw.instruction_set, "SET",
          "auto (default), reference, portable, avx2, avx512, avx512_vnni or avx512_bf16;\nthe text is the same with "
          "each",
          "Model");
    value("--memory-limit", raw.memory_limit, "SIZE", "refuse a page that needs more memory (512M, 2G)", "Model");
    value("--min-pixels", raw.min_pixels, "N", "enlarge smaller pictures to N pixels (default: the model's)",
          "Picture");
    value("--max-pixels", raw.max_pixels, "N",
          "reduce larger pictures to N pixels (default: the model's, at most\n"
          "1048576 on the CPU)",
          "Picture");
    value("--background", raw.background, "R,G,B",
          "what is behind transparent parts, three numbers from 0 to 255\n(default: 255,255,255, white)", "Picture");
    value("--task", raw.task, "NAME", "what to read; --list-tasks names them (default: the model's first)", "Request");
    value("--prompt", raw.prompt, "TEXT", "ask in your own words, instead of --task", "Request");
    value("--system", raw.system, "TEXT", "system text, put before the picture", "Request");
    app.add_option("--stop", raw.stop, "end the answer before this text; may be given several times")
        ->option_text("TEXT")
        ->group("Request")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
    value("--repetition-guard", raw.repetition_guard, "on",
          "end an answer that repeats one thing over and over (default: on);\noff reads on", "Request");
    value("--strategy", raw.strategy, "ar",
          "how tokens are found: ar (default), one a step, or lookahead, which\n"
          "guesses from what stood there before; the text is the same",
          "Request");
    app.add_flag("--lookahead", raw.lookahead, "the same as --strategy lookahead")->group("Request");
    value("--block-size", raw.block_size, "N", "most tokens that lookahead verifies together, 1 to 16 (default: 16)",
          "Request");
    for (const GenerationOption& option : kGenerationOptions)
        value(option.name, raw.generation[option.name], option.kind, option.help, option.group);
    app.add_flag("--do-sample", raw.do_sample,
                 "draw tokens; without it only if the model asks for it, or one of\n"
                 "the six after it is given")
        ->group("Sampling");
    value("--output", raw.output, "FILE", "write the answer to FILE, which appears whole or not at all", "Output");
    app.add_flag("--json", raw.json, "one JSON object for each picture, one a line")->group("Output");
    app.add_flag("--stats", raw.stats, "what each picture needs and takes: memory, times, speeds; on stderr")
        ->group("Output");
    app.add_flag("--verbose", raw.verbose, "what loading the model took, and the memory of each page, on stderr")
        ->group("Output");
    app.add_flag("--quiet", raw.quiet, "no notes and no progress on stderr")->group("Output");
    app.add_flag("--list-tasks", raw.list_tasks, "print the tasks of the model, the default first")->group("Other");
    app.add_flag("--version", raw.version, "print the version")->group("Other");
    app.add_flag("-h,--help", raw.help, "print this text")->group("Other");
}

std::string help_text(CLI::App& app) {
    std::string text =
        "Usage: hunyuan-ocr [OPTION]... IMAGE...\n"
        "       hunyuan-ocr check [OPTION]... [FOLDER]\n"
        "Reads the text of pictures with a HunyuanOCR model. Each IMAGE is a page of its own: a PNG, JPEG, WebP, TIFF\n"
        "(first page), BMP or PNM file, or - for standard input. The text goes to standard output as it comes.\n"
        "check tries a model before it is used: its files, shapes, ids and weights, and a picture through all of it.\n";
    constexpr std::size_t kColumn = 28;
    std::string group;
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_group() != group) {
            group = option->get_group();
            text += "\n" + group + ":\n";
        }
        std::string line = option->get_snames().empty() ? "  " : "  -" + option->get_snames().front() + ", ";
        line += option->get_name();
        if (!option->get_option_text().empty()) line += " " + option->get_option_text();
        line.resize(std::max(kColumn, line.size() + 1), ' ');
        for (const char c : option->get_description()) {
            line += c;
            if (c == '\n') line.append(kColumn, ' ');
        }
        text += line + "\n";
    }
    text += "\nExit codes:\n";
    for (const ExitStatus& status : kExitStatuses) {
        std::string line = "  " + std::to_string(static_cast<int>(status.exit));
        line.resize(6, ' ');
        line += status.name;
        line.resize(20, ' ');
        text += line + std::string(status.meaning) + "\n";
    }
    return text;
}

// Every long name: of this version, then of later ones.
std::vector<std::string> known_names(CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) names.push_back(option->get_name());
    return names;
}

UsageError unknown_option(CLI::App& app, const std::string& argument) {
    const std::string name = argument.substr(0, argument.find('='));
    for (const LaterOption& later : kLaterOptions) {
        if (name == later.name)
            return refused(name + " is not in this version (" + std::string(later.instead) + "); leave it out");
    }
    const std::vector<std::string> names = known_names(app);
    std::vector<std::string_view> views(names.begin(), names.end());
    for (const LaterOption& later : kLaterOptions) views.push_back(later.name);
    const std::string_view near = nearest(name, views);
    return refused("unknown option " + name + (near.empty() ? "" : "; did you mean " + std::string(near) + "?") +
                   " (--help lists the options; a picture of this name is written ./" + name + ")");
}

bool is_later_subcommand(std::string_view argument) {
    return std::find(kLaterSubcommands.begin(), kLaterSubcommands.end(), argument) != kLaterSubcommands.end();
}

// Splits what CLI11 left over into a subcommand, pictures and options that it does not know.
std::optional<UsageError> take_pictures(CLI::App& app, Options& options) {
    bool only_pictures = false;
    for (const std::string& argument : app.remaining()) {
        const bool is_first = !only_pictures && options.action == Action::read && options.pictures.empty();
        if (!only_pictures && argument == "--") {
            only_pictures = true;
        } else if (!only_pictures && argument.size() > 1 && argument.front() == '-') {
            return unknown_option(app, argument);
        } else if (is_first && argument == kCheckSubcommand) {
            options.action = Action::check;
        } else if (is_first && is_later_subcommand(argument)) {
            return refused("the subcommand " + argument +
                           " is not in this version (a picture of this name is written ./" + argument + ")");
        } else {
            options.pictures.push_back(argument);
        }
    }
    if (std::count(options.pictures.begin(), options.pictures.end(), kStandardInput) > 1)
        return refused("- (standard input) is given more than once; it holds one picture");
    return std::nullopt;
}

// check takes one folder, and no option of a request.
std::optional<UsageError> take_checked_folder(const CLI::App& app, Options& options) {
    for (const char* name : kRequestOptions) {
        if (app.get_option(name)->count() > 0)
            return refused(std::string(name) + " is of reading pictures; check takes the options of the model, " +
                           "--json, --output and --quiet");
    }
    if (options.pictures.size() > 1)
        return refused("check takes one model; given are " + options.pictures[0] + " and " + options.pictures[1]);
    if (options.pictures.empty()) return std::nullopt;
    if (app.get_option("--model")->count() > 0)
        return refused("check is given two models, " + options.pictures[0] + " and --model " + options.model_dir);
    options.model_dir = options.pictures[0];
    options.pictures.clear();
    return std::nullopt;
}

// Sets `target` to the value of `choice` that `text` names, when the option was given.
template <class T, std::size_t Count>
std::optional<UsageError> take_choice(const Choice<T, Count>& choice, const std::string& text, T& target) {
    if (text.empty()) return std::nullopt;
    auto value = choice.parse(text);
    if (auto* error = std::get_if<UsageError>(&value)) return std::move(*error);
    target = std::get<T>(value);
    return std::nullopt;
}

std::optional<UsageError> take_integer(std::string_view name, const std::string& text, std::int64_t most,
                                       std::optional<std::int64_t>& target) {
    if (text.empty()) return std::nullopt;
    target = parse_integer(text, 1, most);
    if (target) return std::nullopt;
    return refused(std::string(name) + " " + text + " is not a whole number from 1 to " + std::to_string(most));
}

std::optional<UsageError> take_values(const RawOptions& raw, Options& options) {
    hunyuan_ocr::RuntimeOptions& runtime = options.runtime;
    constexpr std::int64_t kMostPixels = std::int64_t{1} << 53;  // what the reduction computes exactly
    if (auto error = take_choice(kBackends, raw.backend, runtime.backend)) return error;
    if (!raw.precision.empty()) {
        auto precision = parse_precision(raw.precision);
        if (auto* error = std::get_if<UsageError>(&precision)) return std::move(*error);
        runtime.precision = std::get<hunyuan_ocr::PartPrecisions>(precision);
    }
    if (auto error = take_choice(kStrategies, raw.strategy, runtime.strategy)) return error;
    if (auto error = take_choice(kInstructionSets, raw.instruction_set, runtime.instruction_set)) return error;
    if (auto error = take_choice(kRepetitionGuard, raw.repetition_guard, options.generation.repetition_guard))
        return error;
    if (raw.lookahead) {
        if (!raw.strategy.empty() && runtime.strategy != hunyuan_ocr::Strategy::lookahead)
            return refused("--lookahead and --strategy " + raw.strategy + " are both given; choose one");
        runtime.strategy = hunyuan_ocr::Strategy::lookahead;
    }
    std::optional<std::int64_t> threads, min_pixels, max_pixels, block_size;
    if (auto error = take_integer("--block-size", raw.block_size, hunyuan_ocr::kMaximumBlockSize, block_size))
        return error;
    if (block_size && runtime.strategy == hunyuan_ocr::Strategy::ar)
        return refused("--block-size " + raw.block_size +
                       " has no use with --strategy ar, one token a step; add --lookahead, or leave it out");
    runtime.block_size = static_cast<int>(block_size.value_or(0));
    if (auto error = take_integer("--threads", raw.threads, kMostThreads, threads)) return error;
    if (auto error = take_integer("--min-pixels", raw.min_pixels, kMostPixels, min_pixels)) return error;
    if (auto error = take_integer("--max-pixels", raw.max_pixels, kMostPixels, max_pixels)) return error;
    if (auto error = take_generation(raw.generation, options.generation)) return error;
    if (raw.do_sample) options.generation.do_sample = true;
    options.generation.stop = raw.stop;
    if (min_pixels && max_pixels && *min_pixels > *max_pixels)
        return refused("--min-pixels " + raw.min_pixels + " is more than --max-pixels " + raw.max_pixels);
    runtime.threads = static_cast<int>(threads.value_or(0));
    runtime.min_pixels = min_pixels.value_or(0);
    runtime.max_pixels = max_pixels.value_or(0);
    if (!raw.memory_limit.empty()) {
        const auto bytes = parse_bytes(raw.memory_limit);
        if (!bytes)
            return refused("--memory-limit " + raw.memory_limit +
                           " is not a size: whole bytes above zero, or with a unit K, M, G or T (512M, 2G)");
        runtime.memory_limit_bytes = *bytes;
    }
    if (!raw.background.empty()) {
        const auto color = parse_color(raw.background);
        if (!color)
            return refused("--background " + raw.background +
                           " is not a colour: red, green and blue, each 0 to 255 (255,255,255)");
        runtime.background = *color;
    }
    if (!raw.task.empty() && !raw.prompt.empty())
        return refused("--task and --prompt are both given; a request has one of them");
    if (raw.quiet && raw.verbose) return refused("--quiet and --verbose are both given; choose one");
    options.prompt = {.task = raw.task, .text = raw.prompt, .system = raw.system};
    options.model_dir = raw.model;
    if (const char* variable = std::getenv(kModelVariable); variable && options.model_dir.empty())
        options.model_dir = variable;
    options.output = raw.output;
    options.json = raw.json;
    options.stats = raw.stats;
    options.verbose = raw.verbose;
    options.quiet = raw.quiet;
    return std::nullopt;
}

// CLI11 takes whatever follows an option as its value, also what follows "--name=": a slip that could make a flag the
// model folder or a picture the output file. Of a flag it takes any number as "on". Such slips are refused before it
// looks.
std::optional<UsageError> check_slips(const CLI::App& app, std::span<const char* const> arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string argument = arguments[i];
        if (argument == "--") break;
        if (argument.empty()) return refused("an argument is empty; leave it out, or give it a value");
        if (!argument.starts_with("--")) continue;
        if (argument.find('=') == argument.size() - 1) return refused(argument + " has no value");
        const std::string name = argument.substr(0, argument.find('='));
        const CLI::Option* option = app.get_option_no_throw(name);
        if (!option) continue;
        const bool has_value = name.size() < argument.size();
        if (option->get_expected_max() == 0 && has_value)
            return refused(argument + " gives " + name + " a value, which it does not take; write " + name +
                           ", or leave it out");
        if (option->get_expected_max() == 0 || has_value || i + 1 == arguments.size()) continue;
        const std::string value = arguments[++i];
        if (value.empty()) return refused(argument + " has an empty value");
        if (value.starts_with("--"))
            return refused(argument + " is followed by " + value + "; a value that begins with -- is written " +
                           argument + "=" + value);
    }
    return std::nullopt;
}

}  // namespace

std::variant<Options, UsageError> parse_command_line(int argument_count, const char* const* arguments) {
    const std::size_t count = argument_count > 0 ? static_cast<std::size_t>(argument_count) : 0;
    RawOptions raw;
    CLI::App app;
    try {
        declare(app, raw);
        if (count > 0) {
            if (auto error = check_slips(app, {arguments + 1, count - 1})) return *std::move(error);
        }
        app.parse(argument_count, arguments);
    } catch (const CLI::ArgumentMismatch& error) {
        const std::string what = error.what();  // "NAME: 1 required TEXT missing"
        return refused(what.substr(0, what.find(':')) + " takes one value and is given once");
    } catch (const CLI::Error& error) {
        return refused(std::string(error.what()) + " (--help lists the options)");
    }
    Options options;
    if (raw.help) {
        options.action = Action::help;
        options.help = help_text(app);
        return options;
    }
    if (raw.version) {
        options.action = Action::version;
        return options;
    }
    if (auto error = take_pictures(app, options)) return *std::move(error);
    if (auto error = take_values(raw, options)) return *std::move(error);
    if (options.action == Action::check) {
        if (auto error = take_checked_folder(app, options)) return *std::move(error);
    } else if (raw.list_tasks) {
        if (!options.pictures.empty()) return refused("--list-tasks takes no picture");
        options.action = Action::list_tasks;
    } else if (options.pictures.empty()) {
        return refused("no picture is given: hunyuan-ocr [OPTION]... IMAGE... (--help lists the options)");
    }
    return options;
}

}  // namespace inkstone::app
