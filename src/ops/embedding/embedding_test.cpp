// Embedding: rows of a packed matrix come back as they were, for every weight format, in any order of ids.
#include "ops/embedding/embedding.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace inkstone::ops::embedding {
namespace {

constexpr std::size_t kVocabulary = 70, kWidth = 24;

// Exact in every weight format.
float element(std::size_t id, std::size_t i) { return static_cast<float>((id * 31 + i * 7) % 255) - 127.0f; }

std::vector<std::byte> source_bytes(tensor::WeightFormat format) {
    std::vector<std::byte> bytes(kVocabulary * kWidth * tensor::weight_bytes(format));
    for (std::size_t at = 0; at < kVocabulary * kWidth; ++at) {
        const float value = element(at / kWidth, at % kWidth);
        if (format == tensor::WeightFormat::f32) {
            std::memcpy(&bytes[at * 4], &value, 4);
        } else {
            std::uint32_t bits;
            std::memcpy(&bits, &value, 4);
            const auto half = static_cast<std::uint16_t>(bits >> 16);
            std::memcpy(&bytes[at * 2], &half, 2);
        }
    }
    return bytes;
}

TEST(Embedding, GivesTheRowsOfThePackedMatrix) {
    for (const tensor::WeightFormat format : {tensor::WeightFormat::f32, tensor::WeightFormat::bf16}) {
        const std::vector<std::byte> bytes = source_bytes(format);
        tensor::PackedMatrix table{.format = format, .outputs = kVocabulary, .inputs = kWidth};
        std::vector<std::byte> packed(table.bytes());
        table.data = packed.data();
        pack({.format = format, .outputs = kVocabulary, .inputs = kWidth, .data = bytes.data()}, format, packed.data(),
             0, table.tiles());

        const std::vector<std::int32_t> ids = {0, 69, 31, 32, 63, 64, 31};
        std::vector<float> y(ids.size() * kWidth, -1000.0f);
        const Arguments arguments{.ids = ids.data(), .y = y.data(), .table = table, .rows = ids.size()};
        run(arguments, 0, 4);
        EXPECT_EQ(y[4 * kWidth], -1000.0f);
        run(arguments, 4, ids.size());
        for (std::size_t r = 0; r < ids.size(); ++r) {
            for (std::size_t i = 0; i < kWidth; ++i) {
                ASSERT_EQ(y[r * kWidth + i], element(static_cast<std::size_t>(ids[r]), i)) << "row " << r << ", " << i;
            }
        }
    }
}

}  // namespace
}  // namespace inkstone::ops::embedding
