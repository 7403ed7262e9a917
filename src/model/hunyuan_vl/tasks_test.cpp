// The tasks that a package serves: its own, or the twelve official ones.
#include "model/hunyuan_vl/tasks.h"

#include <gtest/gtest.h>

#include "testing/package_copy.h"

namespace inkstone::model::hunyuan_vl {
namespace {

const std::filesystem::path kRoot = INKSTONE_SOURCE_DIR;

TEST(Tasks, OfAPackage) {
    const auto tasks = Tasks::read(kRoot / "models/nano");
    ASSERT_TRUE(tasks.ok());
    ASSERT_EQ(tasks->all().size(), 2U);
    EXPECT_EQ(tasks->default_task().name, "structured_parse");
    EXPECT_EQ(*tasks->prompt("structured_parse"), "Extract the text in the image.");
    const auto unknown = tasks->prompt("formula");
    ASSERT_FALSE(unknown.ok());
    EXPECT_EQ(unknown.error().code, ErrorCode::not_found);
    EXPECT_EQ(unknown.error().subject, "formula");
    EXPECT_NE(unknown.error().message.find("structured_parse, spotting_hunyuan"), std::string::npos);
}

TEST(Tasks, OfficialOnesWithoutAFile) {
    const auto tasks = Tasks::read(kRoot / "tests/data/tiny");
    ASSERT_TRUE(tasks.ok());
    EXPECT_EQ(tasks->all().size(), 12U);
    EXPECT_EQ(tasks->default_task().name, "doc_parse");
    EXPECT_EQ(*tasks->prompt("formula"), "识别图片中的公式，用LaTeX格式表示。");
    for (const Task& task : tasks->all()) EXPECT_EQ(*tasks->prompt(task.name), task.prompt);
}

TEST(Tasks, OnlySomePrintBoxes) {
    const auto official = Tasks::read(kRoot / "tests/data/tiny");
    std::string with_boxes;
    for (const Task& task : official->all()) {
        EXPECT_EQ(official->prints_boxes(task.prompt), task.boxes);
        if (task.boxes) with_boxes += task.name + ' ';
    }
    EXPECT_EQ(with_boxes, "spotting_json spotting_hunyuan layout layout_parse ");
    EXPECT_TRUE(official->prints_boxes("Where is the signature?"));

    const testing::PackageCopy copy(kRoot / "models/nano");
    copy.set("tasks.json", "/tasks/find_seals", "Find the seals.");
    const auto own = Tasks::read(copy.path());
    ASSERT_TRUE(own.ok());
    EXPECT_FALSE(own->prints_boxes(*own->prompt("structured_parse")));
    EXPECT_TRUE(own->prints_boxes(*own->prompt("spotting_hunyuan")));
    EXPECT_TRUE(own->prints_boxes("Find the seals."));
}

}  // namespace
}  // namespace inkstone::model::hunyuan_vl
