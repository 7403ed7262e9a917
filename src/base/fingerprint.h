// A 128-bit fingerprint of bytes: tells one set of weights from another. Not a defence against forgery.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace inkstone {

// XXH3 (128 bits) over everything added, in order.
class Fingerprint {
public:
    Fingerprint();
    ~Fingerprint();
    Fingerprint(const Fingerprint&) = delete;
    Fingerprint& operator=(const Fingerprint&) = delete;

    void add(std::span<const std::byte> bytes);
    // Adds the text and its length, so that neighbours cannot run together.
    void add(std::string_view text);
    // 32 hexadecimal digits of all that was added so far.
    std::string text() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace inkstone
