// The element types that tensors on disk and in memory have, named as the safetensors format spells them.
// Used by format/ (readers), graph/ (values) and backends (which form reads which type).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace inkstone::tensor {

// bool8: one byte, 0 or 1. f8_e4m3, f8_e5m2: one byte, exponent and mantissa bits as named.
enum class DataType : std::uint8_t {
    f64,
    f32,
    f16,
    bf16,
    f8_e4m3,
    f8_e5m2,
    i64,
    i32,
    i16,
    i8,
    u64,
    u32,
    u16,
    u8,
    bool8
};

// Bytes of one element: 1, 2, 4 or 8.
std::size_t bytes_per_element(DataType type);

// The safetensors spelling: "F32", "BF16", "BOOL", ...
std::string_view name_of(DataType type);

// The type with this safetensors spelling (upper case), or nothing.
std::optional<DataType> data_type_of(std::string_view name);

}  // namespace inkstone::tensor
