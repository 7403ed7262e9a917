// A cache folder made by the test: the revision that refs/main names, else the newest snapshot; names that could lead
// out of the cache are not looked up.
#include "runtime/hub_cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>

namespace inkstone::runtime {
namespace fs = std::filesystem;

class HubCache : public ::testing::Test {
protected:
    void SetUp() override {
        root_ = fs::temp_directory_path() / ("hub_cache_test_" + std::to_string(::getpid()));
        ::setenv("HF_HUB_CACHE", root_.c_str(), 1);
    }
    void TearDown() override {
        ::unsetenv("HF_HUB_CACHE");
        fs::remove_all(root_);
    }
    fs::path snapshot(const std::string& revision) {
        const fs::path folder = root_ / "models--owner--Model-1.5" / "snapshots" / revision;
        fs::create_directories(folder);
        std::ofstream(folder / "config.json") << "{}";
        return folder;
    }
    void main_is(const std::string& revision) {
        fs::create_directories(root_ / "models--owner--Model-1.5" / "refs");
        std::ofstream(root_ / "models--owner--Model-1.5" / "refs" / "main") << revision;
    }
    fs::path root_;
};

TEST_F(HubCache, TakesTheRevisionOfMain) {
    const fs::path a = snapshot("aaaa");
    snapshot("bbbb");
    main_is("aaaa\n");
    EXPECT_EQ(find_hub_snapshot("owner/Model-1.5"), a);
}

TEST_F(HubCache, ElseTheNewestSnapshot) {
    const fs::path a = snapshot("aaaa"), b = snapshot("bbbb");
    fs::last_write_time(a, fs::file_time_type::clock::now() + std::chrono::hours(1));
    EXPECT_EQ(find_hub_snapshot("owner/Model-1.5"), a);
    main_is("gone");
    EXPECT_EQ(find_hub_snapshot("owner/Model-1.5"), a);
}

TEST_F(HubCache, FindsNothingElsewhere) {
    snapshot("aaaa");
    for (const char* name :
         {"owner/other", "Model-1.5", "owner/..", "../owner/Model-1.5", "owner/Model-1.5/x", "/", ""})
        EXPECT_FALSE(find_hub_snapshot(name)) << name;
    main_is("../../../owner");
    fs::remove_all(root_ / "models--owner--Model-1.5" / "snapshots");
    EXPECT_FALSE(find_hub_snapshot("owner/Model-1.5"));
}

}  // namespace inkstone::runtime
