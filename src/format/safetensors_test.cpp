// Safetensors: the official library's file, every way a header can lie, cuts and mutations, and writing.
#include "format/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "base/mapped_file.h"
#include "format/test_files.h"
#include "testing/allocations.h"

namespace inkstone::format {
namespace {

using tensor::DataType;
using tensor::Shape;

const std::string kGolden = std::string(INKSTONE_SOURCE_DIR) + "/tests/golden/format/official.safetensors";

// Opens these bytes as a file. The file is removed at once: the mapping keeps it.
Result<Safetensors> opened(const TemporaryFolder& folder, std::string_view bytes) {
    const auto path = write_file(folder / "x.safetensors", bytes);
    auto file = Safetensors::open(path);
    std::filesystem::remove(path);
    return file;
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string entry(std::string_view name, std::string_view type, std::string_view shape, std::string_view offsets) {
    std::string out = "\"";
    out.append(name).append("\":{\"dtype\":\"").append(type).append("\",\"shape\":").append(shape);
    return out.append(",\"data_offsets\":").append(offsets).append("}");
}

}  // namespace

TEST(Safetensors, ReadsTheOfficialFile) {
    const auto file = Safetensors::open(kGolden);
    ASSERT_TRUE(file) << file.error().text();
    std::vector<std::string> names;
    for (const auto& tensor : file->tensors()) names.push_back(tensor.name);
    EXPECT_EQ(names, (std::vector<std::string>{"scalar", "empty", "layers.0.weight", "layers.1.weight",
                                               "name \"quoted\" 汉字\t"}));
    EXPECT_EQ(file->metadata(), (Metadata{{"format", "pt"}}));

    const auto* weight = file->find("layers.1.weight");
    ASSERT_NE(weight, nullptr);
    EXPECT_EQ(weight->type, DataType::bf16);
    EXPECT_EQ(weight->shape, (Shape{2, 3}));
    EXPECT_EQ(tensor::to_float(*weight, "").value(),
              (std::vector<float>{1.0F, -2.5F, 3.25F, 0.10009765625F, 65536.0F, -0.0F}));
    EXPECT_EQ(tensor::to_float(*file->find("layers.0.weight"), "").value(),
              (std::vector<float>{0.0F, 1 / 3.0F, 2 / 3.0F, 1.0F}));
    const auto* scalar = file->find("scalar");
    EXPECT_EQ(scalar->shape, Shape{});
    EXPECT_EQ(scalar->element_count(), 1U);
    EXPECT_EQ(file->find("empty")->shape, (Shape{0, 4}));
    EXPECT_EQ(file->find("layers.2.weight"), nullptr);
    EXPECT_EQ(file->find(""), nullptr);

    EXPECT_TRUE(file->holds(weight->bytes));
    EXPECT_FALSE(file->holds(bytes_of("elsewhere")));
}

TEST(Safetensors, WritesTheOfficialBytes) {
    const auto file = Safetensors::open(kGolden);
    ASSERT_TRUE(file);
    std::vector<NamedTensor> tensors(file->tensors().rbegin(), file->tensors().rend());
    const TemporaryFolder folder;
    const auto path = folder / "written.safetensors";
    ASSERT_TRUE(write_safetensors(path, tensors, file->metadata()));
    EXPECT_EQ(read_text_file(path, 1 << 20, "test").value(), read_text_file(kGolden, 1 << 20, "test").value());
}

TEST(Safetensors, WritesWholeOrNothing) {
    const TemporaryFolder folder;
    const std::vector<NamedTensor> good = {{"a", {DataType::u8, {3}, bytes_of("abc")}}};
    ASSERT_TRUE(write_safetensors(folder / "x", good));
    const auto refused = [&](const std::vector<NamedTensor>& tensors) {
        const auto status = write_safetensors(folder / "x", tensors);
        EXPECT_FALSE(status);
        EXPECT_EQ(status.error().code, ErrorCode::invalid_argument);
        EXPECT_TRUE(Safetensors::open(folder / "x"));  // the earlier file is as it was
    };
    refused({good[0], good[0]});
    refused({{"a", {DataType::u8, {4}, bytes_of("abc")}}});
    refused({{"a", {DataType::f32, {1ULL << 62, 4}, {}}}});
    refused({{"__metadata__", {DataType::u8, {3}, bytes_of("abc")}}});
    EXPECT_EQ(write_safetensors(folder / "no/such/folder/x", good).error().code, ErrorCode::not_found);
    EXPECT_EQ(write_safetensors(folder.path(), good).error().code, ErrorCode::io);
    // Nothing but the one file is left behind.
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);

    ASSERT_TRUE(write_safetensors(folder / "none", {}));
    EXPECT_TRUE(Safetensors::open(folder / "none")->tensors().empty());
}

TEST(Safetensors, RefusesLyingHeaders) {
    const std::string a = entry("a", "F32", "[2]", "[0,8]");
    struct Case {
        std::string header;
        std::size_t data_bytes;
        std::string_view message;  // a part of it
        ErrorCode code = ErrorCode::malformed;
    };
    const std::vector<Case> cases = {
        {"{" + entry("a", "F32", "[4611686018427387904,4]", "[0,0]") + "}", 0, "more bytes than 64 bits can count"},
        {"{" + entry("a", "U8", "[4611686018427387904,4]", "[0,0]") + "}", 0, "more bytes than 64 bits can count"},
        {"{" + entry("a", "U8", "[9223372036854775807,2]", "[0,8]") + "}", 8, "takes 18446744073709551614 bytes"},
        {"{" + entry("a", "F32", "[2]", "[18446744073709551608,18446744073709551615]") + "}", 8, "before it ends at 0"},
        {"{" + entry("a", "U8", "[18446744073709551615]", "[0,18446744073709551615]") + "}", 8, "has only 8 bytes"},
        {"{" + entry("a", "U8", "[18446744073709551616]", "[0,8]") + "}", 8, "element 0 is no integer"},
        {"{" + entry("a", "U8", "[-1]", "[0,8]") + "}", 8, "element 0 is no integer"},
        {"{" + entry("a", "U8", "[8.0]", "[0,8]") + "}", 8, "element 0 is no integer"},
        {"{" + entry("a", "F32", "[2]", "[8,0]") + "}", 8, "end before they begin"},
        {"{" + entry("a", "F32", "[2]", "[0,8]") + "}", 7, "cut short"},
        {"{" + entry("a", "F32", "[2]", "[0,8]") + "}", 9, "has 9 bytes of data but its tensors take 8"},
        {"{" + entry("a", "F32", "[3]", "[0,8]") + "}", 8, "8 bytes, but shape [3] of F32 takes 12 bytes"},
        {"{" + a + "," + entry("b", "F32", "[2]", "[4,12]") + "}", 12, "neither overlap nor leave gaps"},
        {"{" + a + "," + entry("b", "F32", "[2]", "[0,8]") + "}", 8, "neither overlap nor leave gaps"},
        {"{" + a + "," + entry("b", "F32", "[2]", "[12,20]") + "}", 20, "neither overlap nor leave gaps"},
        {"{" + a + "," + entry("a", "F32", "[2]", "[8,16]") + "}", 16, "stands in the header twice"},
        {"{" + a + "," + entry("a", "F32", "[0]", "[8,8]") + "}", 8, "stands in the header twice"},
        {"{" + entry("a", "F99", "[2]", "[0,8]") + "}", 8, "dtype \"F99\"", ErrorCode::unsupported},
        {"{" + entry("a", "U8", "[1,1,1,1,1,1,1,1,8]", "[0,8]") + "}", 8, "9 extents", ErrorCode::unsupported},
        {"{" + entry("a", "F32", "[2]", "[0,8,8]") + "}", 8, "has 3 data_offsets, expected 2"},
        {"{" + entry("a", "F32", "[2]", "[8]") + "}", 8, "has 1 data_offsets, expected 2"},
        {"{" + entry("a", "F32", "2", "[0,8]") + "}", 8, "a shape that is no list"},
        {R"({"a":{"dtype":"F32","shape":[2]}})", 8, "has no data_offsets"},
        {R"({"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8, "once each"},
        {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":[[[1]]]}})", 8, "the key \"more\""},
        {R"({"a":[0,8]})", 8, "is no object"},
        {R"({"__metadata__":{"n":1}})", 0, "whose \"n\" is no text"},
        {R"({"__metadata__":[]})", 0, "is no object of texts"},
        {R"({"__metadata__":{},"__metadata__":{}})", 0, "__metadata__ twice"},
        {"[]", 0, "does not begin with {"},
        {" {}", 0, "does not begin with {"},
        {"", 0, "does not begin with {"},
        {"{} {}", 0, "after its closing brace"},
        {"{}x", 0, "not valid JSON"},
        {"{\"a\":", 0, "not valid JSON"},
        {"{\"a\xFF\":1}", 0, "not valid JSON"},
        {"{" + a + ",}", 8, "not valid JSON"},
        {"{\"a\":" + std::string(50000, '[') + std::string(50000, ']') + "}", 0, "is no object"},
        {std::string(100000, '{'), 0, "not valid JSON"},
    };
    const TemporaryFolder folder;
    for (const Case& c : cases) {
        const auto file = opened(folder, safetensors_bytes(c.header, std::string(c.data_bytes, '\1')));
        ASSERT_FALSE(file) << c.header.substr(0, 200);
        EXPECT_EQ(file.error().code, c.code) << file.error().text();
        EXPECT_NE(file.error().message.find(c.message), std::string::npos) << c.header.substr(0, 200) << "\n"
                                                                           << file.error().text();
        EXPECT_NE(file.error().subject.find("x.safetensors"), std::string::npos);
    }
    // What is wrong with one tensor names it.
    const auto file =
        opened(folder, safetensors_bytes("{" + entry("lm_head.weight", "F32", "[3]", "[0,8]") + "}", "01234567"));
    EXPECT_TRUE(file.error().subject.ends_with(": lm_head.weight"));
}

TEST(Safetensors, RefusesFilesThatAreSomethingElse) {
    const TemporaryFolder folder;
    const auto message = [&](std::string_view bytes) {
        const auto file = opened(folder, bytes);
        return file ? std::string("opened") : file.error().message;
    };
    const std::string header = "{" + entry("a", "U8", "[8]", "[0,8]") + "}";
    EXPECT_EQ(message(safetensors_bytes(header, "01234567")), "opened");
    EXPECT_EQ(message(safetensors_bytes(header + " \n ", "01234567")), "opened");
    EXPECT_NE(message("").find("has 0 bytes"), std::string::npos);
    EXPECT_NE(message("1234567").find("has 7 bytes"), std::string::npos);
    EXPECT_NE(message(safetensors_bytes(1ULL << 63, header, "")).find("9223372036854775808 bytes"), std::string::npos);
    EXPECT_NE(message(safetensors_bytes(~0ULL, header, "")).find("18446744073709551615 bytes"), std::string::npos);
    EXPECT_NE(message(safetensors_bytes(1'000'000'000, header, "")).find("at most 100000000"), std::string::npos);
    EXPECT_NE(message(safetensors_bytes(99'000'000, header, "")).find("cut short"), std::string::npos);
    EXPECT_NE(message("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n").find("git lfs pull"),
              std::string::npos);
    EXPECT_NE(message("<!DOCTYPE html><html></html>").find("web page"), std::string::npos);
    EXPECT_EQ(Safetensors::open(folder / "missing").error().code, ErrorCode::not_found);
    EXPECT_EQ(Safetensors::open(folder.path()).error().code, ErrorCode::io);
}

// A cut anywhere is an error; a mutation is an error or a valid file, and then its header is strict JSON and every byte
// of every view can be read.
TEST(Safetensors, SurvivesCutsAndMutations) {
    const std::string bytes = read_text_file(kGolden, 1 << 20, "test").value();
    const TemporaryFolder folder;
    for (std::size_t i = 0; i < 100; ++i) EXPECT_FALSE(opened(folder, bytes.substr(0, bytes.size() * i / 100))) << i;
    std::mt19937 random(11);
    std::size_t accepted = 0;
    unsigned sum = 0;
    constexpr std::string_view kBytes = "{}[]\",:\\0189eE-+.FBU \x80\xFF\x01";
    for (int i = 0; i < 500; ++i) {
        std::string mutated = bytes;
        for (unsigned edits = 1 + random() % 2; edits > 0; --edits) {
            const std::size_t at = random() % 376;  // length and header
            if (random() % 4 == 0)
                mutated[at] = static_cast<char>(random());
            else
                mutated[at] = kBytes[random() % kBytes.size()];
        }
        inkstone::testing::largest_request_bytes = 0;
        const auto file = opened(folder, mutated);
        EXPECT_LE(inkstone::testing::largest_request_bytes.load(),
                  4 * mutated.size() + 16384);  // and the stream that writes it
        if (!file) continue;
        ++accepted;
        std::uint64_t length = 0;
        std::memcpy(&length, mutated.data(), 8);
        EXPECT_TRUE(nlohmann::json::accept(mutated.substr(8, length)));
        for (const auto& tensor : file->tensors())
            for (const std::byte byte : tensor.view.bytes) sum += std::to_integer<unsigned>(byte);
    }
    EXPECT_GT(accepted, 10U);  // letters of a name
    EXPECT_LT(accepted, 200U);
    EXPECT_GT(sum, 0U);
}

TEST(Safetensors, ReadsManyTensors) {
    constexpr std::size_t kTensors = 50000;
    std::string header = "{";
    for (std::size_t i = 0; i < kTensors; ++i) {
        const std::string begin = std::to_string(2 * i), end = std::to_string(2 * i + 2);
        header += entry("model.layers." + std::to_string(i) + ".weight", "BF16", "[1]", "[" + begin + "," + end + "]");
        header += i + 1 < kTensors ? ',' : '}';
    }
    const TemporaryFolder folder;
    const auto file = opened(folder, safetensors_bytes(header, std::string(2 * kTensors, '\0')));
    ASSERT_TRUE(file) << file.error().text();
    EXPECT_EQ(file->tensors().size(), kTensors);
    EXPECT_NE(file->find("model.layers.49999.weight"), nullptr);
    EXPECT_EQ(file->find("model.layers.50000.weight"), nullptr);
}

}  // namespace inkstone::format
