// Value or error: what every fallible function of the engine returns. An error says what kind it is, in which stage,
// about which subject (file, key, tensor), and in one sentence what was found, what was expected and what to do.
// Nothing in src/ throws for a foreseeable failure, prints, or exits; runtime/ turns errors into exceptions.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace inkstone {

enum class ErrorCode {
    invalid_argument,  // the caller's value is out of range or mistyped
    not_found,         // a file, key, tensor or task is missing
    io,                // the operating system refused a read, write or map
    malformed,         // a file's content breaks its format
    mismatch,          // two things that must agree do not (shapes, counts, ids)
    unsupported,       // well formed, but not something this build can do
    out_of_memory,     // an allocation failed or an estimate passes the limit
    context_full,      // more tokens than positions
    cancelled,         // the caller asked to stop
    numeric,           // a NaN or infinity where a number must be
    internal,          // a broken invariant of ours
};

// The code's name as it stands in messages and JSON, for example "malformed".
std::string_view name_of(ErrorCode code);

struct Error {
    ErrorCode code = ErrorCode::internal;
    std::string stage;    // "load weights", "decode image", "tokenizer", ...
    std::string subject;  // the file, key or tensor
    std::string message;  // found and expected, and the remedy
    // "stage: subject: message"
    std::string text() const;
};

// A value of T or an Error. Check with `if (!result)`; value() asserts.
template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit on purpose
    Result(Error error) : content_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit on purpose
    explicit operator bool() const { return content_.index() == 0; }
    bool ok() const { return content_.index() == 0; }
    T& value() & {
        assert(ok());
        return *std::get_if<0>(&content_);
    }
    const T& value() const& {
        assert(ok());
        return *std::get_if<0>(&content_);
    }
    T&& value() && {
        assert(ok());
        return std::move(*std::get_if<0>(&content_));
    }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }
    const Error& error() const& {
        assert(!ok());
        return *std::get_if<1>(&content_);
    }
    Error&& error() && {
        assert(!ok());
        return std::move(*std::get_if<1>(&content_));
    }

private:
    std::variant<T, Error> content_;
};

template <>
class [[nodiscard]] Result<void> {
public:
    Result() = default;
    Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose
    explicit operator bool() const { return !error_; }
    bool ok() const { return !error_; }
    const Error& error() const& {
        assert(error_);
        return *error_;
    }
    Error&& error() && {
        assert(error_);
        return std::move(*error_);
    }

private:
    std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace inkstone

#define INKSTONE_CONCATENATE_(a, b) a##b
#define INKSTONE_CONCATENATE(a, b) INKSTONE_CONCATENATE_(a, b)
// INKSTONE_TRY(auto file, MappedFile::open(path)); declares `file`, or returns the error from the enclosing function.
#define INKSTONE_TRY(declaration, expression)                                  \
    auto INKSTONE_CONCATENATE(try_result_, __LINE__) = (expression);           \
    if (!INKSTONE_CONCATENATE(try_result_, __LINE__))                          \
        return std::move(INKSTONE_CONCATENATE(try_result_, __LINE__)).error(); \
    declaration = std::move(INKSTONE_CONCATENATE(try_result_, __LINE__)).value()
// INKSTONE_CHECK(write(x)); returns the error of a Status from the enclosing function.
#define INKSTONE_CHECK(expression)                                                                   \
    do {                                                                                             \
        if (auto check_result = (expression); !check_result) return std::move(check_result).error(); \
    } while (false)
