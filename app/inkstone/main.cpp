// inkstone: the engine's own command. The first argument is the subcommand; each has a file of its own.
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/command.h"
#include "common/messages.h"
#include "common/signals.h"
#include "common/values.h"
#include "inkstone/bench.h"

namespace inkstone::app {
namespace {

struct Subcommand {
    std::string_view name, meaning;
    Exit (*run)(std::span<const std::string_view> arguments, Output& output);
};

constexpr std::array kSubcommands{
    Subcommand{"bench", "how fast a model runs on this machine, beside what the machine can do", run_bench},
};

std::string help_text() {
    std::string text = "Usage: inkstone SUBCOMMAND [OPTION]...\n\nSubcommands:\n";
    for (const Subcommand& subcommand : kSubcommands) {
        std::string line = "  " + std::string(subcommand.name);
        line.resize(12, ' ');
        text += line + std::string(subcommand.meaning) + "\n";
    }
    return text +
           "\ninkstone SUBCOMMAND --help lists its options, inkstone --version prints the version.\n"
           "Exit codes are those of hunyuan-ocr --help.\n";
}

Exit refuse(const std::string& sentence) {
    say(sentence);
    return Exit::usage;
}

Exit run(std::span<const std::string_view> arguments) {
    Output output(cancel_token());
    if (arguments.empty()) return refuse("no subcommand is given: inkstone SUBCOMMAND [OPTION]... (--help lists them)");
    if (arguments[0] == "--help" || arguments[0] == "-h") return print(output, help_text());
    if (arguments[0] == "--version") return print(output, "inkstone " INKSTONE_VERSION "\n");
    std::vector<std::string_view> names;
    for (const Subcommand& subcommand : kSubcommands) {
        if (subcommand.name == arguments[0]) return subcommand.run(arguments.subspan(1), output);
        names.push_back(subcommand.name);
    }
    return refuse(one_line(arguments[0]) + " is no subcommand of this version, which has: " + join(names));
}

}  // namespace
}  // namespace inkstone::app

int main(int argument_count, char** arguments) {
    const std::vector<std::string_view> words(arguments + (argument_count > 0 ? 1 : 0), arguments + argument_count);
    return inkstone::app::run_command([&] { return inkstone::app::run(words); });
}
