// Where the small default model lies, told from where the program lies.
#pragma once

#include <filesystem>

namespace inkstone::app {

// That of the installation the running program belongs to, else that of the source tree it was built from. Throws Error
// (not_found) when there is none.
std::filesystem::path default_model();

}  // namespace inkstone::app
