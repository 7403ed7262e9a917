// The official prompts, and the reader of tasks.json.
#include "model/hunyuan_vl/tasks.h"

#include <algorithm>
#include <utility>

#include "format/json.h"

namespace inkstone::model::hunyuan_vl {
namespace {

// Names and prompts of the official inference helpers.
constexpr std::pair<std::string_view, std::string_view> kOfficialTasks[] = {
    {"doc_parse",
     "提取文档图片中正文的所有信息用markdown格式表示，其中页眉、页脚部分忽略，表格用html格式表达，文档中公式用latex格式"
     "表示，按照阅读顺序组织进行解析。"},
    {"structured_parse", "提取图中的文字。"},
    {"spotting_json",
     "检测并识别图中所有的文字行，请按从上到下、从左到右的阅读顺序进行识别。 输出格式为 JSON "
     "数组，每个元素必须包含：\"box\": [xmin, ymin, xmax, ymax]（坐标需归一化到 [0, 1000] 范围内）；\"text\": "
     "\"识别出的文字内容\"。 注意：请直接输出 JSON 数组，不要包含任何多余的描述性文字。"},
    {"spotting_hunyuan", "检测并识别图片中的文字，将文本坐标格式化输出。"},
    {"layout", "按照阅读顺序解析图中的版式信息。"},
    {"layout_parse",
     "提取文档图片中所有内容用markdown格式表示，表格用html格式表达，文档中公式用latex格式表示，请按照阅读顺序组织进行"
     "全文解析，并输出版式分析信息。"},
    {"chart_parse", "解析图中的图表，对于流程图使用Mermaid格式表示，其他图表使用Markdown格式表示。"},
    {"formula", "识别图片中的公式，用LaTeX格式表示。"},
    {"table", "把图中的表格解析为HTML。"},
    {"doc_trans_en2zh",
     "先解析文档，再将文档内容翻译为中文，其中页眉、页脚忽略，公式用latex格式表示，表格用html格式表示。"},
    {"trans_other2en",
     "按照阅读顺序，提取图中文字，公式用latex格式表示，表格用markdown格式表示，再将文字内容翻译为英文。"},
    {"trans_other2zh",
     "按照阅读顺序，提取图中文字，公式用latex格式表示，表格用markdown格式表示，再将文字内容翻译为中文。"},
};

// Whether a task prints coordinates of what it finds. In the others, what looks like coordinates is part of the page.
bool prints_boxes_by_name(std::string_view name) {
    if (std::ranges::find(kOfficialTasks, name, &std::pair<std::string_view, std::string_view>::first) ==
        std::end(kOfficialTasks))
        return true;
    return name.starts_with("spotting_") || name.starts_with("layout");
}

}  // namespace

Result<Tasks> Tasks::read(const std::filesystem::path& folder) {
    Tasks tasks;
    std::error_code error;
    // A link that leads nowhere is a file that is missing, not a model without one.
    if (!std::filesystem::exists(std::filesystem::symlink_status(folder / "tasks.json", error))) {
        for (const auto& [name, prompt] : kOfficialTasks)
            tasks.tasks_.push_back({std::string(name), std::string(prompt), prints_boxes_by_name(name)});
        return tasks;
    }
    INKSTONE_TRY(const format::Json json, format::Json::read(folder / "tasks.json"));
    INKSTONE_TRY(const std::string first, json.text("default"));
    INKSTONE_TRY(const format::Json list, json.object("tasks"));
    for (const std::string& name : list.keys()) {
        INKSTONE_TRY(const format::Json prompt, list.member(name));
        INKSTONE_TRY(std::string words, prompt.text(""));
        tasks.tasks_.push_back({name, std::move(words), prints_boxes_by_name(name)});
    }
    const auto at = std::ranges::find(tasks.tasks_, first, &Task::name);
    if (at == tasks.tasks_.end())
        return json.error(ErrorCode::malformed, "default", "is \"" + first + "\", which \"tasks\" does not list");
    std::rotate(tasks.tasks_.begin(), at, at + 1);
    return tasks;
}

Result<std::string_view> Tasks::prompt(std::string_view name) const {
    const auto at = std::ranges::find(tasks_, name, &Task::name);
    if (at != tasks_.end()) return std::string_view(at->prompt);
    std::string served;
    for (const Task& task : tasks_) served += (served.empty() ? "" : ", ") + task.name;
    return Error{ErrorCode::not_found, "choose task", std::string(name),
                 "is not a task of this package; it serves " + served};
}

bool Tasks::prints_boxes(std::string_view prompt) const {
    const auto at = std::ranges::find(tasks_, prompt, &Task::prompt);
    return at == tasks_.end() || at->boxes;
}

}  // namespace inkstone::model::hunyuan_vl
