// The largest request for memory that a test program and its libraries make: what hostile files must not raise. Linked
// into a test program, it takes the place of malloc, or listens to the address sanitizer's.
#pragma once

#include <atomic>
#include <cstddef>

namespace inkstone::testing {

// Set it to 0 before the work that is measured.
extern std::atomic<std::size_t> largest_request_bytes;

// Whether requests are seen in this build: not under the thread sanitizer, nor with other C libraries than glibc.
bool sees_requests();

}  // namespace inkstone::testing
