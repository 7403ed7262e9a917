// Tensors by name and shape: both namings load, and what is missing, twice or of another shape is named.
#include "model/hunyuan_vl/weights.h"

#include <gtest/gtest.h>

#include <functional>

#include "format/test_files.h"
#include "model/hunyuan_vl/text.h"
#include "model/hunyuan_vl/vision.h"

namespace inkstone::model::hunyuan_vl {
namespace {

using format::NamedTensor;

const std::filesystem::path kTiny = std::filesystem::path(INKSTONE_SOURCE_DIR) / "tests/data/tiny";

class WeightsTest : public ::testing::Test {
protected:
    // Opens the tiny model's tensors after a change of their list; "" when they are accepted.
    std::string outcome(const std::function<void(std::vector<NamedTensor>&)>& change, ErrorCode* code = nullptr) {
        std::vector<NamedTensor> tensors;
        for (const std::string_view name : checkpoint_.names())
            tensors.push_back({std::string(name), *checkpoint_.find(name)});
        change(tensors);
        const format::TemporaryFolder folder;
        EXPECT_TRUE(format::write_safetensors(folder / "model.safetensors", tensors).ok());
        const auto changed = format::Checkpoint::open(folder.path());
        EXPECT_TRUE(changed.ok());
        const auto weights = Weights::open(*changed, config_);
        if (!weights.ok()) {
            if (code != nullptr) *code = weights.error().code;
            return weights.error().text();
        }
        EXPECT_TRUE(vision_graph(config_, *weights).ok());
        EXPECT_TRUE(text_graph(config_, *weights).ok());
        unused_ = weights->unused();
        old_names_ = weights->old_names();
        return "";
    }
    static NamedTensor& named(std::vector<NamedTensor>& tensors, std::string_view name) {
        return *std::ranges::find(tensors, name, &NamedTensor::name);
    }

    format::Checkpoint checkpoint_ = std::move(*format::Checkpoint::open(kTiny));
    Config config_ = std::move(*read_config(kTiny));
    std::vector<std::string> unused_;
    bool old_names_ = false;
};

TEST_F(WeightsTest, OldAndNewNamesLoad) {
    EXPECT_EQ(outcome([](auto&) {}), "");
    EXPECT_TRUE(old_names_);
    EXPECT_EQ(outcome([](auto& tensors) {
                  for (NamedTensor& tensor : tensors) tensor.name = class_name(tensor.name);
              }),
              "");
    EXPECT_FALSE(old_names_);
}

TEST_F(WeightsTest, EveryTensorIsRequired) {
    const auto names = checkpoint_.names();
    for (std::size_t i = 0; i < names.size(); i += 7) {  // each kind is among them
        const std::string_view name = names[i];
        if (name.ends_with("image_sep") || name == "lm_head.weight") continue;
        ErrorCode code{};
        const std::string text = outcome(
            [&](auto& tensors) { std::erase_if(tensors, [&](auto& each) { return each.name == name; }); }, &code);
        EXPECT_EQ(code, ErrorCode::not_found) << name;
        EXPECT_NE(text.find(class_name(name)), std::string::npos) << text;
        EXPECT_NE(text.find("; 1 of "), std::string::npos) << text;
    }
}

TEST_F(WeightsTest, AnotherShapeIsRefusedWithBoth) {
    ErrorCode code{};
    const std::string text = outcome(
        [](auto& tensors) {
            auto& view = named(tensors, "model.layers.0.self_attn.q_proj.weight").view;
            view.shape = tensor::Shape{view.shape[1], view.shape[0]};
        },
        &code);
    EXPECT_EQ(code, ErrorCode::mismatch);
    EXPECT_NE(text.find("model.layers.0.self_attn.q_proj.weight"), std::string::npos) << text;
    EXPECT_NE(text.find("[80, 96]"), std::string::npos) << text;
    EXPECT_NE(text.find("[96, 80]"), std::string::npos) << text;
}

// By its name on disk, which is the one that a person can look for.
TEST_F(WeightsTest, AnotherElementTypeIsRefusedByItsNameOnDisk) {
    static const std::vector<std::byte> bytes(4 * 80);
    ErrorCode code{};
    const std::string text = outcome(
        [](auto& tensors) {
            named(tensors, "model.norm.weight").view = {tensor::DataType::i32, tensor::Shape{80}, bytes};
        },
        &code);
    EXPECT_EQ(code, ErrorCode::unsupported);
    EXPECT_NE(text.find(": model.norm.weight: has element type I32"), std::string::npos) << text;
}

TEST_F(WeightsTest, OneTensorUnderTwoNames) {
    ErrorCode code{};
    const std::string text = outcome(
        [](auto& tensors) {
            NamedTensor twin = named(tensors, "model.norm.weight");
            twin.name = "model.language_model.norm.weight";
            tensors.push_back(twin);
        },
        &code);
    EXPECT_EQ(code, ErrorCode::malformed);
    EXPECT_NE(text.find("model.norm.weight"), std::string::npos) << text;
    EXPECT_NE(text.find("model.language_model.norm.weight"), std::string::npos) << text;
}

TEST_F(WeightsTest, AHeadMustBeTheEmbedding) {
    const auto with_head = [&](bool equal) {
        static std::vector<std::byte> bytes;
        return outcome([equal](auto& tensors) {
            std::erase_if(tensors, [](auto& each) { return each.name == "lm_head.weight"; });
            NamedTensor head = named(tensors, "model.embed_tokens.weight");
            bytes.assign(head.view.bytes.begin(), head.view.bytes.end());
            if (!equal) bytes.back() ^= std::byte{1};
            head.name = "lm_head.weight";
            head.view.bytes = bytes;
            tensors.push_back(head);
        });
    };
    EXPECT_EQ(with_head(true), "");
    EXPECT_NE(with_head(false).find("lm_head.weight"), std::string::npos);
}

TEST_F(WeightsTest, TensorsOfNoUseAreListed) {
    EXPECT_EQ(outcome([](auto& tensors) {
                  NamedTensor extra = named(tensors, "model.norm.weight");
                  extra.name = "optimizer.step";
                  tensors.push_back(extra);
              }),
              "");
    EXPECT_EQ(unused_, std::vector<std::string>{"optimizer.step"});
}

TEST_F(WeightsTest, HugeSizesInTheConfigurationCostNothing) {
    config_.text.num_hidden_layers = config_.vision.num_hidden_layers = 4096;
    ErrorCode code{};
    EXPECT_NE(outcome([](auto&) {}, &code), "");
    EXPECT_EQ(code, ErrorCode::not_found);
}

TEST(ClassName, RenamesWhatIsOld) {
    const std::pair<const char*, const char*> names[] = {
        {"model.layers.3.mlp.up_proj.weight", "model.language_model.layers.3.mlp.up_proj.weight"},
        {"model.language_model.norm.weight", "model.language_model.norm.weight"},
        {"vit.layers.0.input_layernorm.bias", "model.vision_tower.layers.0.layer_norm1.bias"},
        {"model.vit.layers.0.mlp.dense_4h_to_h.bias", "model.vision_tower.layers.0.mlp.fc2.bias"},
        {"vit.perceive.proj.0.weight", "model.vision_tower.patch_merger.proj_conv.weight"},
        {"vit.perceive.proj.2.bias", "model.vision_tower.patch_merger.proj_out.bias"},
        {"model.layers.0.input_layernorm.weight", "model.language_model.layers.0.input_layernorm.weight"},
        {"lm_head.weight", "lm_head.weight"},
        {"", ""},
    };
    for (const auto& [disk, official] : names) EXPECT_EQ(class_name(disk), official);
}

}  // namespace
}  // namespace inkstone::model::hunyuan_vl
