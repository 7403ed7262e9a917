// The test that element-by-element operators share: sizes around the lane count, odd ranges as threads would take them,
// awkward values, results in place, and guards around the output.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "testing/buffers.h"
#include "testing/instruction_sets.h"

namespace inkstone::testing {

// Calls run(begin, end) for pieces of [0, count) whose sizes are not multiples of anything.
template <class Run>
void in_odd_pieces(std::size_t count, Run run) {
    constexpr std::size_t kPieces[] = {1, 37, 16, 5, 100, 3};
    std::size_t begin = 0;
    for (std::size_t i = 0; begin < count; ++i) {
        const std::size_t size = kPieces[i % std::size(kPieces)];
        const std::size_t end = count - begin < size ? count : begin + size;
        run(begin, end);
        begin = end;
    }
    run(count, count);  // an empty range does nothing
}

inline const std::vector<std::size_t> kElementCounts = {0, 1, 15, 16, 17, 31, 33, 100, 1023};

// One input `x`, one output `y`.
template <class Arguments, class Forms, class Reference>
void check_unary(const Forms& forms, Reference reference) {
    for (const std::size_t count : kElementCounts) {
        for (const std::vector<float>& x :
             {random_floats(count, 1, 3.0f), random_floats(count, 2, 40.0f), awkward_floats(count)}) {
            std::vector<float> expected(count);
            reference(Arguments{x.data(), expected.data(), count});
            for (const auto& form : forms) {
                SCOPED_TRACE(name_of(form.set) + " count " + std::to_string(count));
                GuardedFloats y(count), in_place(count);
                in_place.assign(x);
                in_odd_pieces(count, [&](std::size_t begin, std::size_t end) {
                    form.run(Arguments{x.data(), y.data(), count}, begin, end);
                });
                form.run(Arguments{in_place.data(), in_place.data(), count}, 0, count);
                EXPECT_TRUE(same_bits(y.data(), expected.data(), count));
                EXPECT_TRUE(same_bits(in_place.data(), expected.data(), count));
                EXPECT_TRUE(y.guards_intact() && in_place.guards_intact());
            }
        }
    }
}

// Two inputs `a` and `b`, one output `y`.
template <class Arguments, class Forms, class Reference>
void check_binary(const Forms& forms, Reference reference) {
    for (const std::size_t count : kElementCounts) {
        const std::vector<float> b = random_floats(count, 3);
        for (const std::vector<float>& a : {random_floats(count, 1, 3.0f), awkward_floats(count)}) {
            std::vector<float> expected(count);
            reference(Arguments{a.data(), b.data(), expected.data(), count});
            for (const auto& form : forms) {
                SCOPED_TRACE(name_of(form.set) + " count " + std::to_string(count));
                GuardedFloats y(count), in_place(count);
                in_place.assign(a);
                in_odd_pieces(count, [&](std::size_t begin, std::size_t end) {
                    form.run(Arguments{a.data(), b.data(), y.data(), count}, begin, end);
                });
                form.run(Arguments{in_place.data(), b.data(), in_place.data(), count}, 0, count);
                EXPECT_TRUE(same_bits(y.data(), expected.data(), count));
                EXPECT_TRUE(same_bits(in_place.data(), expected.data(), count));
                EXPECT_TRUE(y.guards_intact() && in_place.guards_intact());
            }
        }
    }
}

}  // namespace inkstone::testing
