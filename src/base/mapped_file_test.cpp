// Reading a mapped file: what is copied, and that a file which is cut or written to meanwhile is an error with both
// numbers. Looking at the mapping itself would end the process there.
#include "base/mapped_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <vector>

#include "format/test_files.h"

namespace inkstone {
namespace {

constexpr std::size_t kBytes = 100'000;

class Mapped : public ::testing::Test {
protected:
    void SetUp() override {
        std::ofstream file(path_, std::ios::binary);
        for (std::size_t i = 0; i < kBytes; ++i) file.put(static_cast<char>(i * 7));
        file.close();
        auto opened = MappedFile::open(path_, "test");
        ASSERT_TRUE(opened.ok());
        mapped_ = std::move(*opened);
    }
    bool read(std::size_t offset, std::size_t count) {
        copy_.assign(count, std::byte{});
        return mapped_.read(mapped_.bytes().subspan(offset, count), copy_.data());
    }

    format::TemporaryFolder folder_;
    std::filesystem::path path_ = folder_ / "file";
    MappedFile mapped_;
    std::vector<std::byte> copy_;
};

TEST_F(Mapped, ReadsParts) {
    MappedFile moved = std::move(mapped_);
    mapped_ = std::move(moved);
    for (const auto& [offset, count] :
         {std::pair<std::size_t, std::size_t>{0, kBytes}, {4095, 2}, {99'999, 1}, {5, 0}}) {
        ASSERT_TRUE(read(offset, count));
        EXPECT_TRUE(std::ranges::equal(copy_, mapped_.bytes().subspan(offset, count)));
    }
    EXPECT_TRUE(mapped_.check_unchanged("test").ok());
}

TEST_F(Mapped, AFileThatIsCut) {
    std::filesystem::resize_file(path_, 50'000);
    EXPECT_FALSE(read(49'999, 2));
    EXPECT_FALSE(read(90'000, 10));
    const Error error = mapped_.read_failure(mapped_.bytes().subspan(90'000, 10), "test");
    EXPECT_EQ(error.code, ErrorCode::io);
    EXPECT_EQ(error.subject, path_.string());
    EXPECT_NE(error.message.find("100000"), std::string::npos) << error.text();
    EXPECT_NE(error.message.find("50000"), std::string::npos) << error.text();
    EXPECT_FALSE(mapped_.check_unchanged("test").ok());
}

TEST_F(Mapped, AFileThatIsWrittenTo) {
    std::filesystem::last_write_time(path_, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    const auto status = mapped_.check_unchanged("test");
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::io);
    EXPECT_NE(status.error().message.find("written to"), std::string::npos) << status.error().text();
}

TEST_F(Mapped, AnotherFileInItsPlaceIsNoChange) {
    std::ofstream(folder_ / "other") << "other";
    std::filesystem::rename(folder_ / "other", path_);
    EXPECT_TRUE(read(0, kBytes));
    EXPECT_TRUE(mapped_.check_unchanged("test").ok());
}

TEST(MappedFile, WhatIsNoFile) {
    const format::TemporaryFolder folder;
    std::ofstream(folder / "empty").close();
    const auto empty = MappedFile::open(folder / "empty", "test");
    ASSERT_TRUE(empty.ok());
    EXPECT_TRUE(empty->bytes().empty());
    EXPECT_TRUE(empty->read({}, nullptr));
    EXPECT_TRUE(empty->check_unchanged("test").ok());
    const std::pair<std::filesystem::path, const char*> others[] = {
        {folder.path(), "is a directory"}, {"/dev/null", "is a device"}, {folder / "absent", "cannot open"}};
    for (const auto& [path, words] : others) {
        const auto opened = MappedFile::open(path, "test");
        ASSERT_FALSE(opened.ok());
        EXPECT_NE(opened.error().message.find(words), std::string::npos) << opened.error().text();
    }
}

}  // namespace
}  // namespace inkstone
