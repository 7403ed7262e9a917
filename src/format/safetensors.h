// The safetensors file: eight bytes of header length, a JSON header, then the tensors' bytes, mapped.
// Untrusted: every number in the header is checked against the file before it is used, and opening touches no mapped
// byte, so that a file that is cut meanwhile gives an error (base/mapped_file.h). Used by checkpoint.h and tools.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "tensor/tensor_view.h"

namespace inkstone::format {

struct NamedTensor {
    std::string name;
    tensor::TensorView view;
};

using Metadata = std::vector<std::pair<std::string, std::string>>;

// An open file. Immutable after open: safe to read from several threads. Views live as long as the object, and stay
// valid when it is moved.
class Safetensors {
public:
    // The largest header that the official library reads.
    static constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

    // Accepts what the official library accepts: tensors that fill the data from its first byte to its last without gap
    // or overlap, each as long as its shape and type say. Beyond it, a name may stand once only.
    // Errors: not_found, io, malformed (what and where; a cut-short download and a Git LFS pointer are told apart),
    // unsupported (an unknown element type; more than tensor::Shape::kMaxRank extents).
    static Result<Safetensors> open(const std::filesystem::path& path);

    // The tensor of this name, or null.
    const tensor::TensorView* find(std::string_view name) const;
    // All tensors in the order of their bytes in the file, so that reading them in turn reads the file forward.
    std::span<const NamedTensor> tensors() const { return tensors_; }
    const Metadata& metadata() const { return metadata_; }
    const std::filesystem::path& path() const { return file_.path(); }
    // Whether these bytes lie in this file.
    bool holds(std::span<const std::byte> bytes) const;
    // The file, for reading bytes that it holds without touching the mapping.
    const MappedFile& file() const { return file_; }

private:
    MappedFile file_;
    std::vector<NamedTensor> tensors_;
    std::vector<std::uint32_t> by_name_;  // indices of tensors_, sorted by name
    Metadata metadata_;
};

// Writes a file that the official library reads: wide element types first, then by name, the header padded with spaces
// to a multiple of eight, so that every tensor is aligned to its elements. The file appears whole or not at all.
// Errors: invalid_argument (a name twice, "__metadata__" as a name, bytes that do not match shape and type), io.
Status write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                         const Metadata& metadata = {});

}  // namespace inkstone::format
