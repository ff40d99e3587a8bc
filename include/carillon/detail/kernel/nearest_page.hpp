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

#include "carillon/detail/wire/config.hpp"

namespace carillon::detail {

// How long an atomic on `word` takes, in the clock's ticks times `atomics`, with what it takes to
// look at the clock.
template <class Near, class Clock>
CARILLON_HD std::uint64_t time_of_atomics(Near const& near, Clock const& clock, std::uint64_t* word,
                                          unsigned atomics) {
    std::uint64_t const began = clock.ticks();
    for (unsigned i = 0; i < atomics; ++i) {
        // Each waits for the one before: which word it is on depends on what that one returned.
        std::uint64_t const held = near.fetch_add(word, 0);
        word += held == ~std::uint64_t{0} ? 1 : 0;
    }
    return clock.ticks() - began;
}

// Of `count` pages in device memory, `stride` bytes from each other, the index of the nearest. At
// each there are words that may be touched, and that nobody changes meanwhile; they keep their
// values. It takes 24 atomics a page.
template <class Near, class Clock>
CARILLON_HD unsigned nearest_page(Near const& near, Clock const& clock, std::uint64_t* first,
                                  std::size_t stride, unsigned count) {
    constexpr unsigned rounds = 3;  // the first one finds what must be found out about the address
    constexpr unsigned atomics = 8;
    unsigned nearest = 0;
    std::uint64_t least = ~std::uint64_t{0};
    for (unsigned round = 0; round < rounds; ++round) {
        for (unsigned page = 0; page < count; ++page) {
            std::uint64_t const time =
                time_of_atomics(near, clock, first + page * (stride / sizeof(*first)), atomics);
            if (time >= least) continue;
            least = time;
            nearest = page;
        }
    }
    return nearest;
}

}  // namespace carillon::detail
