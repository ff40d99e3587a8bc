// SPDX-License-Identifier: Apache-2.0
// Finds the page of device memory that is near the asking SM.
//
// A GPU's L2 cache has parts, and every page of 4 KiB seems to belong to one of them. A load of an
// unchanged word takes equally long from anywhere, but an SM near that part sees a CPU's new write
// sooner: a round trip is 200 ns shorter. An atomic goes to the part of its word, so its time tells
// near from far, without the CPU (docs/design.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/detail/access/device_near_far.hpp"
#include "carillon/detail/wire/config.hpp"

CARILLON_BEGIN_POLICY_CODE
namespace carillon::detail {

// The time of `atomics` atomics on `word`, in ticks, including a look at the clock. The word never
// is `never`.
template <class Near, class Clock>
CARILLON_HD std::uint64_t time_of_atomics(Near const& near, Clock const& clock, std::uint64_t* word,
                                          std::uint64_t never, unsigned atomics) {
    std::uint64_t const began = clock.ticks();
    CARILLON_SELDOM
    for (unsigned i = 0; i < atomics; ++i) {
        // Each waits for the one before: its address depends on that one's result.
        std::uint64_t const held = near.compare_exchange(word, never, never);
        word += held == never ? 1 : 0;
    }
    return clock.ticks() - began;
}

// The index of the nearest of `count` pages in device memory, `stride` bytes apart. It takes 24
// atomics for each page, on one word of each, `first` in the first. They change nothing, since none
// of these words ever is `never`, and concurrent writes of the CPU stay.
template <class Near, class Clock>
CARILLON_HD unsigned nearest_page(Near const& near, Clock const& clock, std::uint64_t* first,
                                  std::size_t stride, unsigned count, std::uint64_t never) {
    constexpr unsigned rounds = 3;  // the first one finds the address translation
    constexpr unsigned atomics = 8;
    unsigned nearest = 0;
    std::uint64_t least = ~std::uint64_t{0};
    CARILLON_SELDOM
    for (unsigned round = 0; round < rounds; ++round) {
        CARILLON_SELDOM
        for (unsigned page = 0; page < count; ++page) {
            std::uint64_t const time = time_of_atomics(
                near, clock, first + page * (stride / sizeof(*first)), never, atomics);
            if (time >= least) continue;
            least = time;
            nearest = page;
        }
    }
    return nearest;
}

// Chooses the nearer of two pages, for the rings of device ends.
struct NearestPage {
    template <class Near>
    [[nodiscard]] CARILLON_HD unsigned operator()(Near const& near, std::uint64_t* first,
                                                  std::size_t stride, std::uint64_t never) const {
        return nearest_page(near, DeviceClock(), first, stride, 2, never);
    }
};

}  // namespace carillon::detail
CARILLON_END_POLICY_CODE
