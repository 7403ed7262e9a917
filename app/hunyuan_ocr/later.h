// Options, values and subcommands that have a name in the design but are not in this version: they are refused by name,
// never ignored. Used by options.cpp.
#pragma once

#include <array>
#include <string_view>

namespace inkstone::app {

struct LaterOption {
    std::string_view name;
    std::string_view instead;  // what this version does
};

inline constexpr std::string_view kOneTokenAStep = "answers are made one token a step, or with --lookahead";

inline constexpr std::array kLaterOptions{
    LaterOption{"--device", "the CPU is the only device"},
    LaterOption{"--memory", "weights are kept in the narrowest type that holds them exactly"},
    LaterOption{"--cache-dir", "weights are packed at each start and nothing is kept on disk"},
    LaterOption{"--mmap", "model files are always mapped"},
    LaterOption{"--dflash", kOneTokenAStep},
    LaterOption{"--prefix-cache", "each picture is read from its start"},
    LaterOption{"--prefix-cache-dir", "each picture is read from its start"},
    LaterOption{"--format", "output is text, or JSON with --json"},
};

inline constexpr std::array<std::string_view, 2> kLaterBackends{"vulkan", "auto"};
inline constexpr std::array<std::string_view, 2> kLaterPrecisions{"mixed", "auto"};
inline constexpr std::array<std::string_view, 1> kLaterParts{"draft"};  // of --precision
inline constexpr std::array<std::string_view, 3> kLaterStrategies{"dflash", "mtp", "eagle"};
inline constexpr std::array<std::string_view, 1> kLaterSubcommands{"serve"};

}  // namespace inkstone::app
