// Names and texts of errors.
#include "base/result.h"

namespace inkstone {

std::string_view name_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::invalid_argument:
            return "invalid_argument";
        case ErrorCode::not_found:
            return "not_found";
        case ErrorCode::io:
            return "io";
        case ErrorCode::malformed:
            return "malformed";
        case ErrorCode::mismatch:
            return "mismatch";
        case ErrorCode::unsupported:
            return "unsupported";
        case ErrorCode::out_of_memory:
            return "out_of_memory";
        case ErrorCode::context_full:
            return "context_full";
        case ErrorCode::cancelled:
            return "cancelled";
        case ErrorCode::numeric:
            return "numeric";
        case ErrorCode::internal:
            return "internal";
    }
    return "internal";
}

std::string Error::text() const {
    std::string out = stage;
    if (!subject.empty()) out += (out.empty() ? "" : ": ") + subject;
    if (!message.empty()) out += (out.empty() ? "" : ": ") + message;
    return out;
}

}  // namespace inkstone
