// Finds a model that was downloaded earlier into the Hugging Face hub's cache, without any network.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace inkstone::runtime {

// The snapshot folder of "owner/name" (revision main, else the newest snapshot) under HF_HUB_CACHE, HF_HOME/hub or
// ~/.cache/huggingface/hub, in this order. Nothing when the name is not of that form or no snapshot holds a
// config.json. Reads the environment.
std::optional<std::filesystem::path> find_hub_snapshot(std::string_view name);

}  // namespace inkstone::runtime
