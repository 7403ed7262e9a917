// Writing a safetensors file: header by JsonWriter, then the tensors in the header's order.
#include <algorithm>
#include <numeric>

#include "base/atomic_file.h"
#include "base/checked.h"
#include "format/json_writer.h"
#include "format/safetensors.h"

namespace inkstone::format {
namespace {

constexpr std::string_view kStage = "write safetensors";

Error invalid(const std::string& name, std::string message) {
    return {ErrorCode::invalid_argument, std::string(kStage), name, std::move(message)};
}

Status check(std::span<const NamedTensor> tensors, std::span<const std::size_t> by_name) {
    for (std::size_t i = 0; i < by_name.size(); ++i) {
        const NamedTensor& tensor = tensors[by_name[i]];
        if (tensor.name == "__metadata__") return invalid(tensor.name, "is the name of the metadata, not of a tensor");
        if (i > 0 && tensors[by_name[i - 1]].name == tensor.name) return invalid(tensor.name, "is given twice");
        const auto count = tensor.view.shape.element_count();
        const auto needed = count ? checked_multiply(*count, bytes_per_element(tensor.view.type)) : std::nullopt;
        if (needed != tensor.view.bytes.size())
            return invalid(tensor.name, "has " + std::to_string(tensor.view.bytes.size()) +
                                            " bytes, which is not what shape " + to_string(tensor.view.shape) + " of " +
                                            std::string(name_of(tensor.view.type)) + " takes");
    }
    return {};
}

std::string header_text(std::span<const NamedTensor> tensors, std::span<const std::size_t> order,
                        const Metadata& metadata) {
    JsonWriter writer;
    writer.begin_object();
    if (!metadata.empty()) {
        writer.key("__metadata__").begin_object();
        for (const auto& [key, value] : metadata) writer.key(key).text(value);
        writer.end_object();
    }
    std::uint64_t offset = 0;
    for (const std::size_t i : order) {
        const auto& [name, view] = tensors[i];
        writer.key(name).begin_object().key("dtype").text(name_of(view.type)).key("shape").begin_list();
        for (const std::uint64_t extent : view.shape.extents()) writer.unsigned_integer(extent);
        writer.end_list().key("data_offsets").begin_list().unsigned_integer(offset);
        offset += view.bytes.size();
        writer.unsigned_integer(offset).end_list().end_object();
    }
    std::string text = writer.end_object().str();
    text.append((8 - text.size() % 8) % 8, ' ');
    return text;
}

}  // namespace

Status write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                         const Metadata& metadata) {
    std::vector<std::size_t> order(tensors.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) -> const std::string& { return tensors[i].name; });
    INKSTONE_CHECK(check(tensors, order));
    std::ranges::stable_sort(order, std::greater<>(),
                             [&](std::size_t i) { return bytes_per_element(tensors[i].view.type); });

    const std::string header = header_text(tensors, order, metadata);
    std::string length(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>((std::uint64_t{header.size()} >> (8 * i)) & 0xFF);
    INKSTONE_TRY(AtomicFile file, AtomicFile::create(path, kStage));
    INKSTONE_CHECK(file.write(std::as_bytes(std::span(length))));
    INKSTONE_CHECK(file.write(std::as_bytes(std::span(header))));
    for (const std::size_t i : order) INKSTONE_CHECK(file.write(tensors[i].view.bytes));
    return file.commit();
}

}  // namespace inkstone::format
