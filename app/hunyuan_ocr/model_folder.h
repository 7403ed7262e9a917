// Finds the small model that is read with when none is named. Used by main.cpp.
#pragma once

#include <filesystem>
#include <optional>

namespace inkstone::app {

// ../share/inkstone/models/nano beside the program's folder (an installed tree), else the source tree's models/nano.
std::optional<std::filesystem::path> find_default_model();

}  // namespace inkstone::app
