// Opening a safetensors file: the header's place, then the layout of the tensors that it lists.
#include "format/safetensors.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/checked.h"
#include "format/safetensors_header.h"

namespace inkstone::format {
namespace {

constexpr std::string_view kStage = "read safetensors";
constexpr std::uint64_t kLengthBytes = 8;

std::string bytes_text(std::uint64_t count) { return std::to_string(count) + " bytes"; }

Error malformed(const std::filesystem::path& path, std::string message) {
    return {ErrorCode::malformed, std::string(kStage), path.string(), std::move(message)};
}

Error malformed_tensor(const std::filesystem::path& path, const std::string& name, std::string message) {
    return {ErrorCode::malformed, std::string(kStage), path.string() + ": " + name, std::move(message)};
}

// A copy of `count` bytes at `offset`, which the file has.
Result<std::string> copy_of(const MappedFile& file, std::size_t offset, std::size_t count) {
    std::string text(count, '\0');
    const auto part = file.bytes().subspan(offset, count);
    if (!file.read(part, reinterpret_cast<std::byte*>(text.data()))) return file.read_failure(part, kStage);
    return text;
}

// The header's text, or what the file is instead.
Result<std::string> header_text(const MappedFile& file) {
    const std::uint64_t file_bytes = file.bytes().size();
    INKSTONE_TRY(const std::string start, copy_of(file, 0, std::min<std::uint64_t>(file_bytes, 64)));
    if (start.starts_with("version https://git-lfs"))
        return malformed(file.path(),
                         "is a Git LFS pointer of " + bytes_text(file_bytes) +
                             ", not the weights; run `git lfs pull` in the folder, or download the file itself");
    if (start.starts_with("<!DOCTYPE") || start.starts_with("<!doctype") || start.starts_with("<html"))
        return malformed(file.path(), "is a web page, not weights; download the file itself");
    if (file_bytes < kLengthBytes)
        return malformed(file.path(), "has " + bytes_text(file_bytes) +
                                          ", a safetensors file has at least 10; the download was cut short or the "
                                          "file is something else");
    std::uint64_t length = 0;
    for (std::size_t i = kLengthBytes; i > 0; --i) length = length << 8 | static_cast<unsigned char>(start[i - 1]);
    if (length > Safetensors::kMaxHeaderBytes)
        return malformed(file.path(), "states a header of " + bytes_text(length) + ", at most " +
                                          std::to_string(Safetensors::kMaxHeaderBytes) +
                                          " are allowed; this is not a safetensors file");
    if (length > file_bytes - kLengthBytes)
        return malformed(file.path(), "states a header of " + bytes_text(length) + " but has only " +
                                          std::to_string(file_bytes - kLengthBytes) +
                                          " after the length; the download was cut short: get the file again");
    return copy_of(file, kLengthBytes, length);
}

std::string offsets_of(const HeaderTensor& entry) {
    return std::string("has data_offsets [") + std::to_string(entry.begin) + ", " + std::to_string(entry.end) + "]";
}

// Checks the header's entries against the data and makes the views, in the order of their bytes.
Result<std::vector<NamedTensor>> lay_out(const std::filesystem::path& path, std::vector<HeaderTensor> entries,
                                         std::span<const std::byte> data) {
    std::ranges::sort(entries, {}, [](const HeaderTensor& e) { return std::pair(e.begin, e.end); });
    std::vector<NamedTensor> tensors;
    tensors.reserve(entries.size());
    std::uint64_t expected_begin = 0;
    for (HeaderTensor& entry : entries) {
        if (entry.begin > entry.end)
            return malformed_tensor(path, entry.name, offsets_of(entry) + ", which end before they begin");
        if (entry.begin != expected_begin)
            return malformed_tensor(path, entry.name,
                                    offsets_of(entry) + " but the tensor before it ends at " +
                                        std::to_string(expected_begin) +
                                        ": tensors may neither overlap nor leave gaps");
        const std::uint64_t length = entry.end - entry.begin;
        const auto count = entry.shape.element_count();
        const auto needed = count ? checked_multiply(*count, tensor::bytes_per_element(entry.type)) : std::nullopt;
        if (needed != length)
            return malformed_tensor(path, entry.name,
                                    offsets_of(entry) + ", " + bytes_text(length) + ", but shape " +
                                        to_string(entry.shape) + " of " + std::string(name_of(entry.type)) + " takes " +
                                        (needed ? bytes_text(*needed) : "more bytes than 64 bits can count"));
        if (entry.end > data.size())
            return malformed_tensor(path, entry.name,
                                    offsets_of(entry) + " but the file has only " + bytes_text(data.size()) +
                                        " of data; the download was cut short: get the file again");
        tensors.push_back({std::move(entry.name), {entry.type, entry.shape, data.subspan(entry.begin, length)}});
        expected_begin = entry.end;
    }
    if (expected_begin != data.size())
        return malformed(
            path, "has " + bytes_text(data.size()) + " of data but its tensors take " + std::to_string(expected_begin));
    return tensors;
}

}  // namespace

Result<Safetensors> Safetensors::open(const std::filesystem::path& path) {
    Safetensors opened;
    INKSTONE_TRY(opened.file_, MappedFile::open(path, kStage));
    INKSTONE_TRY(const std::string text, header_text(opened.file_));
    INKSTONE_TRY(Header header, parse_header(text, path));
    opened.metadata_ = std::move(header.metadata);
    const auto data = opened.file_.bytes().subspan(kLengthBytes + text.size());
    INKSTONE_TRY(opened.tensors_, lay_out(path, std::move(header.tensors), data));

    auto& by_name = opened.by_name_;
    by_name.resize(opened.tensors_.size());
    std::iota(by_name.begin(), by_name.end(), 0U);
    const auto name_at = [&](std::uint32_t i) -> std::string_view { return opened.tensors_[i].name; };
    std::ranges::sort(by_name, {}, name_at);
    const auto twice = std::ranges::adjacent_find(by_name, {}, name_at);
    if (twice != by_name.end())
        return malformed_tensor(path, opened.tensors_[*twice].name, "stands in the header twice");
    return opened;
}

const tensor::TensorView* Safetensors::find(std::string_view name) const {
    const auto name_at = [&](std::uint32_t i) -> std::string_view { return tensors_[i].name; };
    const auto found = std::ranges::lower_bound(by_name_, name, {}, name_at);
    if (found == by_name_.end() || name_at(*found) != name) return nullptr;
    return &tensors_[*found].view;
}

bool Safetensors::holds(std::span<const std::byte> bytes) const {
    const auto whole = file_.bytes();
    const std::less_equal<> not_after;
    return not_after(whole.data(), bytes.data()) && not_after(bytes.data() + bytes.size(), whole.data() + whole.size());
}

}  // namespace inkstone::format
