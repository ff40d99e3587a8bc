// SPDX-License-Identifier: Apache-2.0
// How a CPU thread spends an unsuccessful poll.
#pragma once

#include <emmintrin.h>
#include <sched.h>

#include <cstdint>

namespace carillon::cpu {

// How many polls in a row a thread makes before it offers its processor to others: a few
// microseconds where every thread has a processor of its own, none where they share.
inline constexpr std::uint32_t polls_before_yield = 128;

// Processors that this thread may run on (sched_getaffinity); at least 1.
[[nodiscard]] unsigned available_processors();

// `polls`: unsuccessful polls so far in a row.
inline void pause_or_yield(std::uint32_t polls, bool oversubscribed) {
    if (oversubscribed || polls >= polls_before_yield) {
        sched_yield();
    } else {
        _mm_pause();
    }
}

}  // namespace carillon::cpu
