// Names and sizes of the element types: one table, read in both directions.
#include "tensor/data_type.h"

#include <array>

namespace inkstone::tensor {
namespace {

struct Entry {
    DataType type;
    std::string_view name;
    std::size_t bytes;
};

// In the order of the enumeration, so that a type is its own index.
constexpr std::array kEntries = {
    Entry{DataType::f64, "F64", 8},   Entry{DataType::f32, "F32", 4},         Entry{DataType::f16, "F16", 2},
    Entry{DataType::bf16, "BF16", 2}, Entry{DataType::f8_e4m3, "F8_E4M3", 1}, Entry{DataType::f8_e5m2, "F8_E5M2", 1},
    Entry{DataType::i64, "I64", 8},   Entry{DataType::i32, "I32", 4},         Entry{DataType::i16, "I16", 2},
    Entry{DataType::i8, "I8", 1},     Entry{DataType::u64, "U64", 8},         Entry{DataType::u32, "U32", 4},
    Entry{DataType::u16, "U16", 2},   Entry{DataType::u8, "U8", 1},           Entry{DataType::bool8, "BOOL", 1},
};

constexpr bool in_order_of_the_enumeration() {
    for (std::size_t i = 0; i < kEntries.size(); ++i)
        if (static_cast<std::size_t>(kEntries[i].type) != i) return false;
    return true;
}
static_assert(in_order_of_the_enumeration());

}  // namespace

std::size_t bytes_per_element(DataType type) { return kEntries[static_cast<std::size_t>(type)].bytes; }

std::string_view name_of(DataType type) { return kEntries[static_cast<std::size_t>(type)].name; }

std::optional<DataType> data_type_of(std::string_view name) {
    for (const Entry& entry : kEntries)
        if (entry.name == name) return entry.type;
    return std::nullopt;
}

}  // namespace inkstone::tensor
