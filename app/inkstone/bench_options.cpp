// One table of options serves the parser, the help and the suggestion for a mistyped name.
#include "inkstone/bench_options.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <vector>

#include "common/messages.h"
#include "common/values.h"

namespace inkstone::app {
namespace {

constexpr std::int64_t kMostThreads = 1024, kMostContext = 1 << 24, kMostSide = 1 << 16;

using Refusal = std::optional<std::string>;

// Calls take(part) with each part between commas.
template <class Take>
Refusal each_part(std::string_view text, const Take& take) {
    for (;;) {
        const std::size_t comma = text.find(',');
        if (Refusal refusal = take(text.substr(0, comma))) return refusal;
        if (comma == std::string_view::npos) return std::nullopt;
        text.remove_prefix(comma + 1);
    }
}

Refusal take_threads(std::string_view text, BenchCommand& command) {
    return each_part(text, [&](std::string_view part) -> Refusal {
        const auto value = parse_integer(part, 1, kMostThreads);
        if (!value)
            return "--threads " + one_line(text) + " is not whole numbers from 1 to " + std::to_string(kMostThreads) +
                   " between commas (1,2)";
        command.options.threads.push_back(static_cast<int>(*value));
        return std::nullopt;
    });
}

Refusal take_contexts(std::string_view text, BenchCommand& command) {
    return each_part(text, [&](std::string_view part) -> Refusal {
        const auto value = parse_integer(part, 0, kMostContext);
        if (!value)
            return "--context " + one_line(text) + " is not whole numbers of tokens from 0 to " +
                   std::to_string(kMostContext) + " between commas (304,2000)";
        command.options.contexts.push_back(static_cast<std::size_t>(*value));
        return std::nullopt;
    });
}

Refusal take_pictures(std::string_view text, BenchCommand& command) {
    return each_part(text, [&](std::string_view part) -> Refusal {
        const std::size_t cross = part.find('x');
        const auto width = parse_integer(part.substr(0, cross), 1, kMostSide);
        const auto height =
            cross == std::string_view::npos ? std::nullopt : parse_integer(part.substr(cross + 1), 1, kMostSide);
        if (!width || !height)
            return "--picture " + one_line(text) + " is not sizes in pixels, width and height from 1 to " +
                   std::to_string(kMostSide) + ", between commas (512x512,1024x1024)";
        command.options.pictures.push_back({*width, *height});
        return std::nullopt;
    });
}

Refusal take_formats(std::string_view text, BenchCommand& command) {
    const std::vector<std::string_view> known = runtime::bench_formats();
    return each_part(text, [&](std::string_view part) -> Refusal {
        if (std::find(known.begin(), known.end(), part) == known.end())
            return "--precision " + one_line(text) + ": " + one_line(part) +
                   " is not in this version, which has: " + join(known);
        command.options.formats.emplace_back(part);
        return std::nullopt;
    });
}

Refusal take_quick(std::string_view, BenchCommand& command) {
    command.options.quick = true;
    return std::nullopt;
}
Refusal take_machine(std::string_view, BenchCommand& command) {
    command.machine = true;
    return std::nullopt;
}
Refusal take_json(std::string_view, BenchCommand& command) {
    command.json = true;
    return std::nullopt;
}
Refusal take_help(std::string_view, BenchCommand& command) {
    command.help = true;
    return std::nullopt;
}

struct Option {
    std::string_view name, value, meaning;  // value: empty for a flag
    Refusal (*take)(std::string_view text, BenchCommand& command);
};

constexpr std::array kOptions{
    Option{"--quick", "", "some seconds on a small model: fewer repeats, one context", take_quick},
    Option{"--json", "", "one JSON object instead of tables", take_json},
    Option{"--threads", "N,...", "numbers of threads, each measured (default: physical cores)", take_threads},
    Option{"--context", "N,...", "tokens of a prompt, and before a decoded token (default: 304,2000;\nquick: 304)",
           take_contexts},
    Option{"--precision", "NAME,...", "formats (default: all that this version has)", take_formats},
    Option{"--picture", "WxH,...", "pictures in pixels (default: 512x512)", take_pictures},
    Option{"--machine", "", "what the machine can do, alone: no model is loaded", take_machine},
    Option{"--help", "", "print this text", take_help},
};

BenchRefusal unknown(std::string_view argument) {
    std::vector<std::string_view> names;
    for (const Option& option : kOptions) names.push_back(option.name);
    const std::string_view near = nearest(argument, names);
    return {"unknown option " + one_line(argument) + (near.empty() ? "" : "; did you mean " + std::string(near) + "?") +
            " (bench --help lists the options)"};
}

}  // namespace

std::variant<BenchCommand, BenchRefusal> parse_bench(std::span<const std::string_view> arguments) {
    BenchCommand command;
    std::vector<std::string_view> given;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string_view argument = arguments[i] == "-h" ? "--help" : arguments[i];
        if (argument.empty()) return BenchRefusal{"an argument is empty; leave it out, or give it a value"};
        if (argument.front() != '-') {
            if (!command.model.empty())
                return BenchRefusal{"bench takes one model; given are " + one_line(command.model) + " and " +
                                    one_line(argument)};
            command.model = argument;
            continue;
        }
        const std::size_t equals = argument.find('=');
        const std::string_view name = argument.substr(0, equals);
        const auto option =
            std::find_if(kOptions.begin(), kOptions.end(), [&](const Option& o) { return o.name == name; });
        if (option == kOptions.end()) return unknown(name);
        if (std::find(given.begin(), given.end(), name) != given.end())
            return BenchRefusal{std::string(name) + " is given more than once; several values stand between commas"};
        given.push_back(name);
        std::string_view value;
        if (equals != std::string_view::npos) value = argument.substr(equals + 1);
        if (option->value.empty()) {
            if (equals != std::string_view::npos) return BenchRefusal{std::string(name) + " takes no value"};
        } else if (equals == std::string_view::npos) {
            if (i + 1 == arguments.size() || arguments[i + 1].starts_with('-'))
                return BenchRefusal{std::string(name) + " has no value; it takes " + std::string(option->value)};
            value = arguments[++i];
        }
        if (Refusal refusal = option->take(value, command)) return BenchRefusal{*std::move(refusal)};
    }
    if (command.machine) {
        if (!command.model.empty())
            return BenchRefusal{"--machine loads no model; given is " + one_line(command.model)};
        for (const std::string_view name : {"--context", "--precision", "--picture"}) {
            if (std::find(given.begin(), given.end(), name) != given.end())
                return BenchRefusal{std::string(name) + " is of a model, and --machine loads none"};
        }
        return command;
    }
    if (const char* variable = std::getenv("HUNYUAN_OCR_MODEL"); variable && command.model.empty())
        command.model = variable;
    return command;
}

std::string bench_help() {
    constexpr std::size_t kColumn = 28;
    std::string text =
        "Usage: inkstone bench [MODEL] [OPTION]...\n"
        "Measures vision, prefill and decode of MODEL (a HunyuanOCR checkpoint folder; default: the variable\n"
        "HUNYUAN_OCR_MODEL, else a small model) beside what this machine can do at most, in the same run.\n\n";
    for (const Option& option : kOptions) {
        std::string line = "  " + std::string(option.name);
        if (!option.value.empty()) line += " " + std::string(option.value);
        line.resize(std::max(kColumn, line.size() + 1), ' ');
        for (const char c : option.meaning) {
            line += c;
            if (c == '\n') line.append(kColumn, ' ');
        }
        text += line + "\n";
    }
    return text;
}

}  // namespace inkstone::app
