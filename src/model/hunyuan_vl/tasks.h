// Named tasks: the model reads well with the prompts that it was trained on, and small changes of wording lower
// quality.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace inkstone::model::hunyuan_vl {

struct Task {
    std::string name, prompt;
    bool boxes = true;  // whether the answer may hold coordinates of the picture, to be read as such
};

// The tasks of a package: those of its tasks.json {"default": name, "tasks": {name: prompt}}, or else the twelve that
// the official inference code of HunyuanOCR 1.5 has. The default stands first. Of the official names only the spotting
// and layout tasks print boxes; of names that a package adds nothing is known, so they may.
class Tasks {
public:
    // Errors: malformed (keys, types, no task, a default that is not listed).
    static Result<Tasks> read(const std::filesystem::path& folder);

    const std::vector<Task>& all() const { return tasks_; }
    const Task& default_task() const { return tasks_.front(); }
    // Errors: not_found: the name, and those that the package serves.
    Result<std::string_view> prompt(std::string_view name) const;
    // Task::boxes of the task with this prompt. Words of the caller's own may ask for anything: true.
    bool prints_boxes(std::string_view prompt) const;

private:
    std::vector<Task> tasks_;
};

}  // namespace inkstone::model::hunyuan_vl
