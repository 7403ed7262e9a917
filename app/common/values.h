// Reads the values of options: whole numbers in a range, sizes with units, decimal numbers, colours; and finds the
// known word nearest to a mistyped one. Used by options.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace inkstone::app {

// A whole number in decimal digits from least to most; nothing when the text is anything else.
std::optional<std::int64_t> parse_integer(std::string_view text, std::int64_t least, std::int64_t most);

// Bytes: digits, then nothing, K, M, G or T in powers of 1024 ("512M", "2G"). Zero is refused.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

// A finite decimal number, whatever the locale.
std::optional<float> parse_decimal(std::string_view text);

// Red, green and blue, each a whole number from 0 to 255, between commas ("255,255,255").
std::optional<std::array<std::uint8_t, 3>> parse_color(std::string_view text);

// The word of `known` with the fewest changed letters; empty when all are too far away to be meant.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

// "a, b, c"
std::string join(std::span<const std::string_view> words);

}  // namespace inkstone::app
