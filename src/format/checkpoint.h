// The weights of a Hugging Face checkpoint folder as published: model.safetensors, or the shards that
// model.safetensors.index.json lists. Tensors are found by their name on disk; what they mean is model/'s business.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/safetensors.h"

namespace inkstone::format {

// An open folder. Immutable after open: safe to use from several threads. Views live as long as the object, and stay
// valid when it is moved.
class Checkpoint {
public:
    // With both files there, model.safetensors is taken, as Hugging Face does. With an index, its weight_map says which
    // tensors there are; each must stand in its shard, and every shard must lie in the folder.
    // Errors: not_found (folder, files, a shard), malformed (an index that leads out of the folder or names a tensor
    // that its shard does not hold; whatever Safetensors::open refuses), io, unsupported.
    static Result<Checkpoint> open(const std::filesystem::path& folder);

    // The tensor of this name, or null.
    const tensor::TensorView* find(std::string_view name) const;
    // All names, in the order of the bytes on disk, shard by shard.
    std::vector<std::string_view> names() const;
    // Bytes of all tensors.
    std::uint64_t total_bytes() const { return total_bytes_; }
    const std::filesystem::path& folder() const { return folder_; }
    // Copies bytes that a view of this checkpoint shows, or a part of them, to `out` by reading their file: a file that
    // is cut meanwhile gives false, where looking at the view would end the process (base/mapped_file.h). Allocates
    // nothing; safe from several threads. read_failure() says why a read failed.
    bool read(std::span<const std::byte> part, std::byte* out) const noexcept;
    Error read_failure(std::span<const std::byte> part) const;
    // Errors: io when a file was written to since it was opened.
    Status check_unchanged() const;

private:
    struct Entry {
        std::string_view name;  // held by the shard
        const tensor::TensorView* view;
    };
    Status add_single(const std::filesystem::path& file);
    Status add_shards(const std::filesystem::path& index_file);
    void index_entries();
    const Safetensors* shard_of(std::span<const std::byte> part) const noexcept;

    std::filesystem::path folder_;
    std::vector<Safetensors> shards_;
    std::vector<Entry> entries_;          // in the order of the bytes on disk
    std::vector<std::uint32_t> by_name_;  // indices of entries_, sorted by name
    std::uint64_t total_bytes_ = 0;
};

}  // namespace inkstone::format
