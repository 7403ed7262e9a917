// The header of a safetensors file by simdjson: 150 000 tensors are read in some tens of milliseconds.
#include "format/safetensors_header.h"

#include <simdjson.h>

#include <array>

namespace inkstone::format {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::string_view kStage = "read safetensors";
// Tensor object and list inside the header object; anything deeper is no header.
constexpr std::size_t kMaxDepth = 8;

class HeaderReader {
public:
    explicit HeaderReader(const std::filesystem::path& path) : path_(path) {}

    Result<Header> read(std::string_view text) {
        if (!text.starts_with('{')) return malformed("has a header that does not begin with {");
        const simdjson::padded_string padded(text);
        ondemand::parser parser;
        if (const auto code = parser.allocate(padded.size(), kMaxDepth)) return invalid(code);
        ondemand::document document;
        if (const auto code = parser.iterate(padded).get(document)) return invalid(code);
        ondemand::object root;
        if (const auto code = document.get_object().get(root)) return invalid(code);
        Header header;
        bool has_metadata = false;
        for (auto member : root) {
            std::string_view name;
            if (const auto code = member.unescaped_key().get(name)) return invalid(code);
            ondemand::value value;
            if (const auto code = member.value().get(value)) return invalid(code);
            if (name == "__metadata__") {
                if (std::exchange(has_metadata, true)) return malformed("has __metadata__ twice in its header");
                INKSTONE_TRY(header.metadata, read_metadata(value));
            } else {
                subject_ = name;
                INKSTONE_TRY(HeaderTensor tensor, read_tensor(value));
                header.tensors.push_back(std::move(tensor));
                subject_.clear();
            }
        }
        if (document.current_location().error() != simdjson::OUT_OF_BOUNDS)
            return malformed("has a header with something after its closing brace");
        return header;
    }

private:
    Error failure(ErrorCode code, std::string message) const {
        return {code, std::string(kStage), subject_.empty() ? path_.string() : path_.string() + ": " + subject_,
                std::move(message)};
    }
    Error malformed(std::string message) const { return failure(ErrorCode::malformed, std::move(message)); }
    Error invalid(simdjson::error_code code) const {
        if (code == simdjson::MEMALLOC)
            return failure(ErrorCode::out_of_memory, "has a header for which there is not enough memory");
        return malformed(std::string("has a header that is not valid JSON or not a safetensors header: ") +
                         simdjson::error_message(code));
    }

    Result<Metadata> read_metadata(ondemand::value value) const {
        ondemand::object object;
        if (value.get_object().get(object)) return malformed("has a __metadata__ that is no object of texts");
        Metadata metadata;
        for (auto member : object) {
            std::string_view key;
            if (const auto code = member.unescaped_key().get(key)) return invalid(code);
            // The key lies in the parser's buffer: kept before the value is read.
            std::string kept(key);
            std::string_view text;
            if (member.value().get_string().get(text))
                return malformed("has a __metadata__ whose \"" + kept + "\" is no text");
            metadata.emplace_back(std::move(kept), text);
        }
        return metadata;
    }

    Result<HeaderTensor> read_tensor(ondemand::value value) const {
        ondemand::object object;
        if (value.get_object().get(object))
            return malformed("is no object with dtype, shape and data_offsets in the header");
        HeaderTensor tensor{subject_, {}, {}, 0, 0};
        bool has_type = false, has_shape = false, has_offsets = false;
        for (auto member : object) {
            std::string_view key;
            if (const auto code = member.unescaped_key().get(key)) return invalid(code);
            ondemand::value field;
            if (const auto code = member.value().get(field)) return invalid(code);
            if (key == "dtype" && !std::exchange(has_type, true)) {
                INKSTONE_TRY(tensor.type, read_type(field));
            } else if (key == "shape" && !std::exchange(has_shape, true)) {
                INKSTONE_TRY(tensor.shape, read_shape(field));
            } else if (key == "data_offsets" && !std::exchange(has_offsets, true)) {
                std::array<std::uint64_t, 2> offsets{};
                INKSTONE_TRY(const std::size_t count, read_integers(field, "data_offsets", offsets));
                if (count != 2) return malformed("has " + std::to_string(count) + " data_offsets, expected 2");
                tensor.begin = offsets[0];
                tensor.end = offsets[1];
            } else {
                return malformed("has the key \"" + std::string(key) +
                                 "\" in the header, expected dtype, shape and data_offsets once each");
            }
        }
        if (!has_type || !has_shape || !has_offsets)
            return malformed(std::string("has no ") +
                             (!has_type    ? "dtype"
                              : !has_shape ? "shape"
                                           : "data_offsets") +
                             " in the header");
        return tensor;
    }

    Result<tensor::DataType> read_type(ondemand::value field) const {
        std::string_view name;
        if (field.get_string().get(name)) return malformed("has a dtype that is no text");
        const auto type = tensor::data_type_of(name);
        if (!type)
            return failure(ErrorCode::unsupported, "has dtype \"" + std::string(name.substr(0, 40)) +
                                                       "\", which this version does not read; F32, F16 and BF16 are "
                                                       "the usual ones");
        return *type;
    }

    Result<tensor::Shape> read_shape(ondemand::value field) const {
        std::array<std::uint64_t, tensor::Shape::kMaxRank> extents{};
        INKSTONE_TRY(const std::size_t rank, read_integers(field, "shape", extents));
        if (rank > extents.size())
            return failure(ErrorCode::unsupported, "has a shape of " + std::to_string(rank) + " extents, at most " +
                                                       std::to_string(extents.size()) + " are read");
        return tensor::Shape(std::span<const std::uint64_t>(extents).first(rank));
    }

    // Fills `out` from the front and gives the length of the list, which may be more than `out` holds.
    Result<std::size_t> read_integers(ondemand::value field, std::string_view key, std::span<std::uint64_t> out) const {
        ondemand::array list;
        if (field.get_array().get(list)) return malformed("has a " + std::string(key) + " that is no list");
        std::size_t count = 0;
        for (auto element : list) {
            std::uint64_t number = 0;
            if (element.get_uint64().get(number))
                return malformed("has a " + std::string(key) + " whose element " + std::to_string(count) +
                                 " is no integer from 0 to 2^64 - 1");
            if (count < out.size()) out[count] = number;
            ++count;
        }
        return count;
    }

    const std::filesystem::path& path_;
    std::string subject_;  // the tensor being read
};

}  // namespace

Result<Header> parse_header(std::string_view text, const std::filesystem::path& path) {
    return HeaderReader(path).read(text);
}

}  // namespace inkstone::format
