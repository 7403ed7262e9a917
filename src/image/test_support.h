// What the tests of image/ share: golden files, their checksum, and the pseudo-random pixels of the golden script.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "image/image.h"

namespace inkstone::image::testing {

inline std::filesystem::path golden_path(const std::string& name) {
    return std::filesystem::path(INKSTONE_SOURCE_DIR) / "tests/golden/image" / name;
}

inline std::vector<std::byte> read_bytes(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file) << path;
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    const auto bytes = std::as_bytes(std::span(content));
    return {bytes.begin(), bytes.end()};
}

inline nlohmann::json read_golden(const std::string& name) {
    std::ifstream file(golden_path(name));
    EXPECT_TRUE(file) << name;
    return nlohmann::json::parse(file);
}

// CRC-32 as in PNG and zlib.
inline std::uint32_t crc32(std::span<const std::byte> bytes) {
    static const auto table = [] {
        std::array<std::uint32_t, 256> values{};
        for (std::uint32_t i = 0; i < 256; ++i) {
            std::uint32_t value = i;
            for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? 0xEDB88320U ^ (value >> 1) : value >> 1;
            values[i] = value;
        }
        return values;
    }();
    std::uint32_t crc = 0xFFFFFFFFU;
    for (const std::byte byte : bytes) crc = table[(crc ^ std::to_integer<std::uint32_t>(byte)) & 255] ^ (crc >> 8);
    return ~crc;
}

// A 32-bit linear congruential generator; its high byte is the value.
struct Noise {
    std::uint32_t state;
    std::uint8_t next() {
        state = state * 1664525U + 1013904223U;
        return static_cast<std::uint8_t>(state >> 24);
    }
};

inline Image noise_image(int width, int height, std::uint32_t seed) {
    Image image = allocate_image(width, height).value();
    Noise noise{seed};
    for (std::uint8_t& sample : image.pixels) sample = noise.next();
    return image;
}

}  // namespace inkstone::image::testing
