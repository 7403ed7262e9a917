// A file written by AtomicFile appears whole on commit, and not at all without it.
#include "base/atomic_file.h"

#include <gtest/gtest.h>

#include "base/mapped_file.h"

namespace inkstone {

TEST(AtomicFile, AppearsOnCommitOnly) {
    std::string name = testing::TempDir() + "inkstone-atomic-XXXXXX";
    const std::filesystem::path folder = ::mkdtemp(name.data());
    const auto path = folder / "file";
    const auto entries = [&] { return std::distance(std::filesystem::directory_iterator(folder), {}); };
    const std::string text = "whole";
    {
        auto file = AtomicFile::create(path, "test");
        ASSERT_TRUE(file) << file.error().text();
        ASSERT_TRUE(file->write(std::as_bytes(std::span(text))));
        EXPECT_FALSE(std::filesystem::exists(path));
        EXPECT_EQ(entries(), 1);
    }
    EXPECT_EQ(entries(), 0);
    {
        auto file = AtomicFile::create(path, "test");
        ASSERT_TRUE(file);
        ASSERT_TRUE(file->write(std::as_bytes(std::span(text))));
        ASSERT_TRUE(file->commit());
    }
    EXPECT_EQ(read_text_file(path, 100, "test").value(), text);
    EXPECT_EQ(entries(), 1);
    EXPECT_EQ(AtomicFile::create(folder / "none" / "file", "test").error().code, ErrorCode::not_found);
    std::filesystem::remove_all(folder);
}

}  // namespace inkstone
