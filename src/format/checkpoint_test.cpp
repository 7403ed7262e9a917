// Checkpoint folders: single file, shards, and every way a folder or an index can be wrong.
#include "format/checkpoint.h"

#include <gtest/gtest.h>

#include <random>

#include "base/mapped_file.h"
#include "format/test_files.h"

namespace inkstone::format {
namespace {

constexpr std::string_view kIndexName = "model.safetensors.index.json";

std::string one_tensor(std::string_view name, std::string_view data) {
    std::string header = "{\"";
    header.append(name).append("\":{\"dtype\":\"U8\",\"shape\":[").append(std::to_string(data.size()));
    header.append("],\"data_offsets\":[0,").append(std::to_string(data.size())).append("]}}");
    return safetensors_bytes(header, data);
}

// Two shards: a in the first, b in the second.
void write_shards(const TemporaryFolder& folder) {
    write_file(folder / "model-00001-of-00002.safetensors", one_tensor("a", "aaaa"));
    write_file(folder / "model-00002-of-00002.safetensors", one_tensor("b", "bb"));
    write_file(folder / kIndexName,
               R"({"metadata":{"total_size":6},"weight_map":{)"
               R"("b":"model-00002-of-00002.safetensors","a":"model-00001-of-00002.safetensors"}})");
}

Error error_of(const std::filesystem::path& folder) {
    const auto checkpoint = Checkpoint::open(folder);
    EXPECT_FALSE(checkpoint);
    return checkpoint ? Error{} : checkpoint.error();
}

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST(Checkpoint, OpensTheSmallModel) {
    const auto checkpoint = Checkpoint::open(std::string(INKSTONE_SOURCE_DIR) + "/models/nano");
    ASSERT_TRUE(checkpoint) << checkpoint.error().text();
    const auto* embedding = checkpoint->find("model.language_model.embed_tokens.weight");
    ASSERT_NE(embedding, nullptr);
    EXPECT_EQ(embedding->shape, (tensor::Shape{1024, 256}));
    EXPECT_EQ(embedding->type, tensor::DataType::bf16);
    const auto names = checkpoint->names();
    EXPECT_EQ(names.front(), "model.language_model.embed_tokens.weight");
    std::uint64_t bytes = 0;
    const std::byte* end = nullptr;
    for (const auto name : names) {
        const auto* view = checkpoint->find(name);
        ASSERT_NE(view, nullptr);
        EXPECT_LE(end, view->bytes.data());
        end = view->bytes.data() + view->bytes.size();
        bytes += view->bytes.size();
    }
    EXPECT_EQ(checkpoint->total_bytes(), bytes);
    std::vector<std::byte> copy(embedding->bytes.size());
    ASSERT_TRUE(checkpoint->read(embedding->bytes, copy.data()));
    EXPECT_TRUE(std::ranges::equal(copy, embedding->bytes));
    EXPECT_FALSE(checkpoint->read(copy, copy.data()));
    EXPECT_EQ(checkpoint->read_failure(copy).code, ErrorCode::internal);
    EXPECT_TRUE(checkpoint->check_unchanged().ok());
}

TEST(Checkpoint, OpensShards) {
    const TemporaryFolder folder;
    write_shards(folder);
    auto opened = Checkpoint::open(folder.path());
    ASSERT_TRUE(opened) << opened.error().text();
    const Checkpoint checkpoint = std::move(opened).value();
    EXPECT_EQ(checkpoint.names(), (std::vector<std::string_view>{"a", "b"}));
    EXPECT_EQ(checkpoint.total_bytes(), 6U);
    EXPECT_EQ(checkpoint.find("a")->bytes.size(), 4U);
    EXPECT_EQ(std::to_integer<char>(checkpoint.find("b")->bytes[1]), 'b');
    EXPECT_EQ(checkpoint.find("c"), nullptr);
    // With both, the single file is taken.
    write_file(folder / "model.safetensors", one_tensor("single", "s"));
    EXPECT_EQ(Checkpoint::open(folder.path())->names(), (std::vector<std::string_view>{"single"}));
}

TEST(Checkpoint, FollowsTheLinksOfAHubCache) {
    const TemporaryFolder folder;
    std::filesystem::create_directories(folder / "blobs");
    std::filesystem::create_directories(folder / "snapshots/main");
    write_file(folder / "blobs/0123", one_tensor("a", "aaaa"));
    std::filesystem::create_symlink("../../blobs/0123", folder / "snapshots/main/model.safetensors");
    EXPECT_TRUE(Checkpoint::open(folder / "snapshots/main"));
    std::filesystem::remove(folder / "blobs/0123");
    EXPECT_EQ(error_of(folder / "snapshots/main").code, ErrorCode::not_found);
}

TEST(Checkpoint, SaysWhatIsWrongWithTheFolder) {
    const TemporaryFolder folder;
    Error error = error_of(folder / "missing");
    EXPECT_EQ(error.code, ErrorCode::not_found);
    EXPECT_TRUE(holds(error.text(), "there is no such folder; a checkpoint folder holds config.json")) << error.text();

    error = error_of(folder.path());
    EXPECT_EQ(error.code, ErrorCode::not_found);
    EXPECT_TRUE(holds(error.text(), "holds neither model.safetensors nor model.safetensors.index.json"));

    const auto file = write_file(folder / "pytorch_model.bin", "x");
    EXPECT_TRUE(holds(error_of(file).text(), "is a file, expected the folder that holds it"));
    EXPECT_TRUE(holds(error_of(folder.path()).text(), "pytorch_model.bin is there, which is another format"));

    write_file(folder / "model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n");
    EXPECT_TRUE(holds(error_of(folder.path()).text(), "Git LFS pointer"));
    write_file(folder / "model.safetensors", one_tensor("a", "aaaa").substr(0, 60));
    EXPECT_TRUE(holds(error_of(folder.path()).text(), "cut short"));
}

TEST(Checkpoint, SaysWhatIsWrongWithTheIndex) {
    const TemporaryFolder folder;
    write_shards(folder);
    const auto with_index = [&](std::string_view text) {
        write_file(folder / kIndexName, text);
        return error_of(folder.path());
    };
    for (const char* path : {"../x.safetensors", "/etc/passwd", "a/../../x", "", ".", "..", "sub/", "a\\u0000b"}) {
        const Error error = with_index(std::string(R"({"weight_map":{"a":")") + path + "\"}}");
        EXPECT_EQ(error.code, ErrorCode::malformed) << path;
        EXPECT_TRUE(holds(error.text(), "weight_map.a: is \"")) << error.text();
        EXPECT_TRUE(holds(error.text(), "inside the checkpoint folder")) << error.text();
    }
    Error error = with_index(R"({"weight_map":{"c":"model-00002-of-00002.safetensors"}})");
    EXPECT_EQ(error.code, ErrorCode::malformed);
    EXPECT_TRUE(error.subject.ends_with("model-00002-of-00002.safetensors: c")) << error.text();
    EXPECT_TRUE(holds(error.text(), "is not in this shard"));

    error =
        with_index(R"({"weight_map":{"a":"model-00001-of-00002.safetensors","z":"model-00009-of-00009.safetensors"}})");
    EXPECT_EQ(error.code, ErrorCode::not_found);
    EXPECT_TRUE(holds(error.text(), "model-00009-of-00009.safetensors: is missing; ")) << error.text();

    EXPECT_EQ(with_index("{}").code, ErrorCode::not_found);
    EXPECT_EQ(with_index(R"({"weight_map":{}})").code, ErrorCode::malformed);
    EXPECT_EQ(with_index(R"({"weight_map":{"a":7}})").code, ErrorCode::malformed);
    EXPECT_EQ(with_index(R"({"weight_map":["a"]})").code, ErrorCode::malformed);
    EXPECT_TRUE(holds(with_index(R"({"weight_map":{"a":"x","a":"y"}})").text(), "the key \"a\" twice"));
}

TEST(Checkpoint, IndexSurvivesCutsAndMutations) {
    const TemporaryFolder folder;
    write_shards(folder);
    const std::string text = read_text_file(folder / kIndexName, 1 << 20, "test").value();
    const auto look = [&](const std::string& index) {
        write_file(folder / kIndexName, index);
        const auto checkpoint = Checkpoint::open(folder.path());
        if (!checkpoint) return false;
        for (const auto name : checkpoint->names()) EXPECT_NE(checkpoint->find(name), nullptr);
        return true;
    };
    for (std::size_t i = 0; i < 100; ++i) EXPECT_FALSE(look(text.substr(0, text.size() * i / 100)));
    std::mt19937 random(5);
    std::size_t accepted = 0;
    constexpr std::string_view kBytes = "{}[]\",:\\01/.ab \x80";
    for (int i = 0; i < 500; ++i) {
        std::string mutated = text;
        mutated[random() % mutated.size()] = kBytes[random() % kBytes.size()];
        if (random() % 4 == 0) mutated.erase(random() % mutated.size(), 1 + random() % 4);
        accepted += look(mutated) ? 1U : 0U;
    }
    EXPECT_GT(accepted, 5U);
    EXPECT_LT(accepted, 250U);
}

}  // namespace inkstone::format
