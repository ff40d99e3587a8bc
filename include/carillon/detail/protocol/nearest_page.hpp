// SPDX-License-Identifier: Apache-2.0
// Which page of device memory is near the SM that asks.
//
// A GPU's L2 cache is in parts, and every page of 4 KiB seems to have its home in one of them. A
// load of a word that nobody changes takes as long from anywhere, but what the CPU has just written
// is seen sooner near its home: a round trip is 200 ns shorter. An atomic goes to the home of its
// word, so how long one takes tells near from far, without the CPU (docs/design.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/detail/access/device.hpp"
#include "carillon/detail/wire/config.hpp"

namespace carillon::detail {

// How long an atomic on `word` takes, in the clock's ticks times `atomics`, with what it takes to
// look at the clock. The word never is `never`.
CARILLON_POLICY_CODE
template <class Near, class Clock>
CARILLON_HD std::uint64_t time_of_atomics(Near const& near, Clock const& clock, std::uint64_t* word,
                                          std::uint64_t never, unsigned atomics) {
    std::uint64_t const began = clock.ticks();
    CARILLON_SELDOM
    for (unsigned i = 0; i < atomics; ++i) {
        // Each waits for the one before: which word it is on depends on what that one returned.
        std::uint64_t const held = near.compare_exchange(word, never, never);
        word += held == never ? 1 : 0;
    }
    return clock.ticks() - began;
}

// Of `count` pages in device memory, `stride` bytes from each other, the index of the nearest. It
// takes 24 atomics a page, on one word of each, `first` in the first. They change nothing, since
// none of these words ever is `never`, and what the CPU writes there meanwhile stays.
CARILLON_POLICY_CODE
template <class Near, class Clock>
CARILLON_HD unsigned nearest_page(Near const& near, Clock const& clock, std::uint64_t* first,
                                  std::size_t stride, unsigned count, std::uint64_t never) {
    constexpr unsigned rounds = 3;  // the first one finds what must be found out about the address
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

// The nearer of two, for the rings of device ends.
struct NearestPage {
    CARILLON_POLICY_CODE
    template <class Near>
    [[nodiscard]] CARILLON_HD unsigned operator()(Near const& near, std::uint64_t* first,
                                                  std::size_t stride, std::uint64_t never) const {
        return nearest_page(near, DeviceClock(), first, stride, 2, never);
    }
};

}  // namespace carillon::detail
