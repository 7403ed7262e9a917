// The JSON header of a safetensors file, as its fields stand there: types and forms checked, numbers not yet compared
// with the file. Private to format/: called by safetensors.cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/safetensors.h"

namespace inkstone::format {

struct HeaderTensor {
    std::string name;
    tensor::DataType type;
    tensor::Shape shape;
    std::uint64_t begin, end;  // data_offsets: bytes from the end of the header
};

struct Header {
    std::vector<HeaderTensor> tensors;
    Metadata metadata;
};

// Errors about `path`: malformed, unsupported.
Result<Header> parse_header(std::string_view text, const std::filesystem::path& path);

}  // namespace inkstone::format
