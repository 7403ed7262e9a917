// The configuration files of both styles: what loads, and for every field what is refused and how the error says it.
#include "model/hunyuan_vl/config.h"

#include <gtest/gtest.h>

#include "model/hunyuan_vl/tasks.h"
#include "testing/package_copy.h"

namespace inkstone::model::hunyuan_vl {
namespace {

using nlohmann::json;
using testing::kRemoved;
using testing::PackageCopy;

const std::filesystem::path kOld = std::filesystem::path(INKSTONE_SOURCE_DIR) / "tests/data/tiny";
const std::filesystem::path kNew = std::filesystem::path(INKSTONE_SOURCE_DIR) / "models/nano";

Status read_all(const std::filesystem::path& folder) {
    INKSTONE_TRY(const Config config, read_config(folder));
    INKSTONE_TRY([[maybe_unused]] const auto generation, read_generation_defaults(folder, config));
    INKSTONE_TRY([[maybe_unused]] const auto preprocessing, read_preprocessing(folder, config));
    INKSTONE_TRY([[maybe_unused]] const auto tasks, Tasks::read(folder));
    return {};
}

// One change of a file and what the error must say.
struct Fault {
    std::filesystem::path package;
    std::string file, pointer;
    json value;
    ErrorCode code;
    std::vector<std::string> words;
};

// "/vision_config/hidden_size" -> "vision_config.hidden_size", as errors write it.
std::string dotted(std::string pointer) {
    pointer.erase(0, 1);
    std::ranges::replace(pointer, '/', '.');
    return pointer;
}

void expect_refused(const Fault& fault) {
    SCOPED_TRACE(fault.file + fault.pointer + " = " +
                 (fault.value.is_discarded() ? std::string("(removed)") : fault.value.dump()));
    const PackageCopy copy(fault.package);
    copy.set(fault.file, fault.pointer, fault.value);
    const Status status = read_all(copy.path());
    ASSERT_FALSE(status.ok());
    const Error& error = status.error();
    EXPECT_EQ(name_of(error.code), name_of(fault.code)) << error.text();
    EXPECT_NE(error.subject.find((copy.path() / fault.file).string()), std::string::npos) << error.text();
    for (const std::string& word : fault.words) EXPECT_NE(error.text().find(word), std::string::npos) << error.text();
}

TEST(Config, BothStylesLoad) {
    const auto old_style = read_config(kOld), new_style = read_config(kNew);
    ASSERT_TRUE(old_style.ok() && new_style.ok());
    EXPECT_EQ(old_style->text.hidden_size, 80U);
    EXPECT_EQ(old_style->text.head_dim, 24U);
    EXPECT_EQ(old_style->text.mrope_section, (std::vector<std::size_t>{3, 3, 3, 3}));
    EXPECT_EQ(old_style->text.rope_alpha, 1000.0);
    EXPECT_EQ(old_style->vision.position_edge, 8U);
    EXPECT_EQ(old_style->image_start_token_id, 1007);
    EXPECT_EQ(new_style->text.num_key_value_heads, 2U);
    EXPECT_EQ(new_style->text.rope_alpha, 1000.0);
    EXPECT_EQ(new_style->vision.head_dim(), 64U);
    EXPECT_EQ(visual_tokens(*old_style, 32, 32), 274U);
}

TEST(Config, EverySizeIsRequiredTypedAndBounded) {
    struct Size {
        std::filesystem::path package;
        std::string file, pointer;
        bool required = true;
    };
    std::vector<Size> sizes;
    const auto add = [&](const std::filesystem::path& package, const std::string& file, const std::string& prefix,
                         std::initializer_list<const char*> keys, bool required = true) {
        for (const char* key : keys) sizes.push_back({package, file, prefix + key, required});
    };
    const auto text = {"hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
                       "max_position_embeddings"};
    const auto vision = {"hidden_size", "intermediate_size",  "num_hidden_layers", "num_attention_heads",
                         "patch_size",  "spatial_merge_size", "max_image_size"};
    const auto images = {"patch_size", "merge_size", "min_pixels", "max_pixels"};
    add(kOld, "config.json", "/", text);
    add(kOld, "config.json", "/", {"num_key_value_heads", "attention_head_dim", "vocab_size"}, false);
    add(kOld, "config.json", "/vision_config/", vision);
    add(kOld, "config.json", "/vision_config/", {"num_channels"}, false);
    add(kNew, "config.json", "/text_config/", text);
    add(kNew, "config.json", "/text_config/", {"vocab_size"});
    add(kNew, "config.json", "/text_config/", {"num_key_value_heads", "head_dim"}, false);
    add(kNew, "config.json", "/vision_config/", vision);
    add(kOld, "preprocessor_config.json", "/", images);
    add(kNew, "generation_config.json", "/", {"max_new_tokens"}, false);
    for (const Size& size : sizes) {
        const std::string name = dotted(size.pointer);
        if (size.required)
            expect_refused(
                {size.package, size.file, size.pointer, kRemoved, ErrorCode::not_found, {name, "is missing"}});
        for (const json& value :
             {json("16"), json(0), json(-1), json(1.5), json(true), json::array({1}), json(std::int64_t{1} << 62)})
            expect_refused({size.package, size.file, size.pointer, value, ErrorCode::malformed, {name, "expected"}});
    }
}

TEST(Config, NumbersOutOfTheirRange) {
    using enum ErrorCode;
    const std::string config = "config.json", generation = "generation_config.json",
                      images = "preprocessor_config.json";
    const Fault faults[] = {
        {kOld, config, "/model_type", kRemoved, not_found, {"model_type"}},
        {kOld, config, "/model_type", 7, malformed, {"model_type", "7"}},
        {kOld, config, "/model_type", "llama", unsupported, {"\"llama\"", "\"hunyuan_vl\""}},
        {kOld, config, "/vision_config", kRemoved, not_found, {"vision_config"}},
        {kOld, config, "/vision_config", 3, malformed, {"vision_config"}},
        {kNew, config, "/text_config", "x", malformed, {"text_config"}},
        {kOld, config, "/hidden_act", "gelu", unsupported, {"hidden_act", "\"gelu\"", "\"silu\""}},
        {kOld, config, "/attention_bias", true, unsupported, {"attention_bias"}},
        {kOld, config, "/rms_norm_eps", 2.0, malformed, {"rms_norm_eps"}},
        {kOld, config, "/rope_theta", 0, malformed, {"rope_theta", "0"}},
        {kOld, config, "/rope_scaling/type", "yarn", unsupported, {"rope_scaling", "\"yarn\"", "\"xdrope\""}},
        {kOld, config, "/rope_scaling/alpha", kRemoved, not_found, {"rope_scaling.alpha"}},
        {kOld, config, "/rope_scaling/alpha", -1, malformed, {"rope_scaling.alpha", "-1"}},
        {kOld, config, "/rope_scaling/xdrope_section", kRemoved, not_found, {"rope_scaling.xdrope_section"}},
        {kOld, config, "/rope_scaling/xdrope_section", {3, 3, 6}, mismatch, {"3 axes", "expected 4"}},
        {kOld, config, "/rope_scaling/xdrope_section", {3, 3, 3, 4}, mismatch, {"13", "24"}},
        {kOld, config, "/rope_scaling/xdrope_section", {3, 3, -3, 9}, malformed, {"xdrope_section[2]", "-3"}},
        {kNew, config, "/text_config/rope_parameters/alpha", "1", malformed, {"text_config.rope_parameters.alpha"}},
        {kNew, config, "/text_config/rope_parameters/rope_theta", 0, malformed, {"rope_parameters.rope_theta"}},
        {kNew, config, "/text_config/rope_parameters/mrope_section", {8, 8, 8}, mismatch, {"3 axes"}},
        {kOld, config, "/num_key_value_heads", 3, mismatch, {"num_attention_heads", "4", "3"}},
        {kOld, config, "/attention_head_dim", kRemoved, mismatch, {"12", "20"}},
        {kOld, config, "/attention_head_dim", 257, malformed, {"257", "256"}},
        {kOld, config, "/tie_word_embeddings", false, unsupported, {"tie_word_embeddings"}},
        {kOld, config, "/image_token_id", 1024, malformed, {"image_token_id", "1024", "1023"}},
        {kOld, config, "/image_start_token_id", kRemoved, not_found, {"image_start_token_id"}},
        {kOld, config, "/image_end_token_id", -1, malformed, {"image_end_token_id", "-1"}},
        {kOld, config, "/vision_config/num_attention_heads", 5, mismatch, {"vision_config.hidden_size", "72", "5"}},
        {kOld, config, "/vision_config/hidden_size", 1024, mismatch, {"1024", "256"}},
        {kOld, config, "/vision_config/hidden_act", "relu", unsupported, {"vision_config.hidden_act", "\"relu\""}},
        {kOld, config, "/vision_config/interpolate_mode", "bicubic", unsupported, {"\"bilinear\""}},
        {kOld, config, "/vision_config/num_channels", 4, unsupported, {"num_channels", "4", "3"}},
        {kOld, config, "/vision_config/temporal_patch_size", 2, unsupported, {"temporal_patch_size", "2", "1"}},
        {kOld, config, "/vision_config/max_image_size", 8, mismatch, {"max_image_size", "8", "16"}},
        {kOld, config, "/vision_config/out_hidden_size", 81, mismatch, {"out_hidden_size", "81", "80"}},
        {kOld, config, "/vision_config/text_hidden_size", 81, mismatch, {"text_hidden_size", "81", "80"}},
        {kOld, generation, "/eos_token_id", "x", malformed, {"eos_token_id"}},
        {kOld, generation, "/eos_token_id", json::array(), malformed, {"eos_token_id", "empty"}},
        {kOld, generation, "/eos_token_id", {1004, 1024}, malformed, {"eos_token_id[1]", "1024", "1023"}},
        {kOld, generation, "/eos_token_id", -1, malformed, {"eos_token_id", "-1"}},
        {kOld, generation, "/repetition_penalty", 0, malformed, {"repetition_penalty", "0"}},
        {kOld, generation, "/repetition_penalty", "1", malformed, {"repetition_penalty"}},
        {kOld, images, "/patch_size", 14, mismatch, {"patch_size", "14", "16"}},
        {kOld, images, "/merge_size", 3, mismatch, {"merge_size", "3", "2"}},
        {kOld, images, "/temporal_patch_size", 2, unsupported, {"temporal_patch_size", "2", "expected 1"}},
        {kOld, images, "/do_convert_rgb", false, unsupported, {"do_convert_rgb", "false", "true"}},
        {kOld, images, "/do_resize", false, unsupported, {"do_resize", "false", "true"}},
        {kOld, images, "/do_rescale", false, unsupported, {"do_rescale", "false", "true"}},
        {kOld, images, "/do_normalize", 1, malformed, {"do_normalize"}},
        {kOld, images, "/rescale_factor", 1.0, unsupported, {"rescale_factor", "1.0", "0.003922"}},
        {kOld, images, "/max_pixels", 4095, malformed, {"max_pixels", "4095", "4096"}},
        {kOld, images, "/image_mean", kRemoved, not_found, {"image_mean"}},
        {kOld, images, "/image_mean", {0.5, 0.5}, mismatch, {"image_mean", "2", "3"}},
        {kOld, images, "/image_std", {0.5, "x", 0.5}, malformed, {"image_std[1]"}},
        {kOld, images, "/image_std", {0.5, 0, 0.5}, malformed, {"image_std", "0"}},
        {kNew, "tasks.json", "/default", kRemoved, not_found, {"default"}},
        {kNew, "tasks.json", "/default", "formula", malformed, {"default", "\"formula\""}},
        {kNew, "tasks.json", "/tasks", kRemoved, not_found, {"tasks"}},
        {kNew, "tasks.json", "/tasks", json::object(), malformed, {"default"}},
        {kNew, "tasks.json", "/tasks/structured_parse", 3, malformed, {"tasks.structured_parse", "3"}},
    };
    for (const Fault& fault : faults) expect_refused(fault);
}

// A head size that follows from other fields is bounded like one that is written: attention keeps a head on its stack.
TEST(Config, ADerivedHeadSizeIsBounded) {
    const PackageCopy copy(kNew);
    copy.set("config.json", "/text_config/head_dim", kRemoved);
    ASSERT_TRUE(read_config(copy.path()).ok());
    copy.set("config.json", "/text_config/num_attention_heads", 1);
    copy.set("config.json", "/text_config/num_key_value_heads", 1);
    copy.set("config.json", "/text_config/hidden_size", 1024);
    copy.set("config.json", "/text_config/rope_parameters/mrope_section", {128, 128, 128, 128});
    const auto large = read_config(copy.path());
    ASSERT_FALSE(large.ok());
    EXPECT_NE(large.error().text().find("1024 for 1 heads"), std::string::npos) << large.error().text();
    EXPECT_NE(large.error().text().find("256"), std::string::npos) << large.error().text();
    copy.set("config.json", "/text_config/num_attention_heads", 2048);
    copy.set("config.json", "/text_config/rope_parameters/mrope_section", {0, 0, 0, 0});
    EXPECT_FALSE(read_config(copy.path()).ok()) << "heads of no width";
}

TEST(Config, UnusualButCoherentValuesLoad) {
    const std::pair<std::string, json> changes[] = {
        {"/max_position_embeddings", 131072},
        {"/max_position_embeddings", 65536},
        {"/max_position_embeddings", 40000},
        {"/rope_theta", 1000000},
        {"/num_attention_heads", 6},
        {"/num_key_value_heads", 4},
        {"/num_key_value_heads", kRemoved},
        {"/vocab_size", kRemoved},
        {"/tie_word_embeddings", kRemoved},
        {"/use_cache", "whatever"},
        {"/unknown", json::array({1, 2})},
        {"/image_newline_token_id", kRemoved},
        {"/rope_scaling/xdrope_section", {12, 0, 0, 0}},
    };
    for (const auto& [pointer, value] : changes) {
        const PackageCopy copy(kOld);
        copy.set("config.json", pointer, value);
        const Status status = read_all(copy.path());
        EXPECT_TRUE(status.ok()) << status.error().text();
    }
}

TEST(GenerationDefaults, ConfigNamesStopIdsWhereTheFileDoesNot) {
    const PackageCopy copy(kOld);
    const auto config = read_config(copy.path());
    EXPECT_EQ(read_generation_defaults(copy.path(), *config)->stop_ids, (std::vector{1004, 1001}));
    copy.set("generation_config.json", "/eos_token_id", kRemoved);
    const auto defaults = read_generation_defaults(copy.path(), *config);
    ASSERT_TRUE(defaults.ok());
    EXPECT_EQ(defaults->stop_ids, std::vector{1004});
    EXPECT_EQ(defaults->repetition_penalty, 1.08F);
    copy.remove("generation_config.json");
    EXPECT_EQ(read_generation_defaults(copy.path(), *config)->stop_ids, std::vector{1004});
    EXPECT_EQ(read_generation_defaults(copy.path(), *config)->repetition_penalty, 1.0F);
    copy.set("config.json", "/eos_token_id", kRemoved);
    const auto none = read_generation_defaults(copy.path(), *config);
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().code, ErrorCode::not_found);
    EXPECT_NE(none.error().text().find("eos_token_id"), std::string::npos) << none.error().text();
}

TEST(GenerationDefaults, AFileThatLinksToItselfIsAnErrorAndNoException) {
    const PackageCopy copy(kOld);
    const auto config = read_config(copy.path());
    copy.remove("generation_config.json");
    std::filesystem::create_symlink("generation_config.json", copy.path() / "generation_config.json");
    EXPECT_NO_THROW((void)read_generation_defaults(copy.path(), *config));
    EXPECT_FALSE(read_generation_defaults(copy.path(), *config).ok());
}

TEST(Config, ALinkThatLeadsNowhereIsAMissingFile) {
    const PackageCopy copy(kNew);
    const auto config = read_config(copy.path());
    for (const char* name : {"generation_config.json", "tasks.json"}) {
        copy.remove(name);
        std::filesystem::create_symlink("blobs/none", copy.path() / name);
    }
    const auto generation = read_generation_defaults(copy.path(), *config);
    ASSERT_FALSE(generation.ok());
    EXPECT_EQ(generation.error().code, ErrorCode::not_found);
    const auto tasks = Tasks::read(copy.path());
    ASSERT_FALSE(tasks.ok());
    EXPECT_EQ(tasks.error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace inkstone::model::hunyuan_vl
