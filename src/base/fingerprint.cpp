// Wraps xxHash.
#include "base/fingerprint.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdint>

namespace inkstone {

struct Fingerprint::State {
    XXH3_state_t hash;
};

Fingerprint::Fingerprint() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->hash); }

Fingerprint::~Fingerprint() = default;

void Fingerprint::add(std::span<const std::byte> bytes) {
    XXH3_128bits_update(&state_->hash, bytes.data(), bytes.size());
}

void Fingerprint::add(std::string_view text) {
    const auto size = static_cast<std::uint64_t>(text.size());
    XXH3_128bits_update(&state_->hash, &size, sizeof size);
    XXH3_128bits_update(&state_->hash, text.data(), text.size());
}

std::string Fingerprint::text() const {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state_->hash));
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : canonical.digest) {
        text += kDigits[byte >> 4];
        text += kDigits[byte & 15];
    }
    return text;
}

}  // namespace inkstone
