// SPDX-License-Identifier: Apache-2.0
// How a CPU thread spends the time between two polls.
#pragma once

#include <emmintrin.h>
#include <sched.h>

#include <cstdint>

#include "carillon/detail/wire/language.hpp"

namespace carillon::detail::cpu {

// How many polls in a row a thread makes before it offers its processor to others: a few
// microseconds where every thread has a processor of its own, none where they share.
inline constexpr std::uint32_t polls_before_yield = 128;

// Processors that this thread may run on (sched_getaffinity); at least 1.
[[nodiscard]] unsigned available_processors();

// TPAUSE, UMONITOR and UMWAIT are there (CPUID: WAITPKG).
[[nodiscard]] bool has_waitpkg();

// The ways in which a CPU waits. HostWait takes this class as a parameter: the tests put one that
// records in its place.
class Waits {
   public:
    [[nodiscard]] static bool has_waitpkg() { return cpu::has_waitpkg(); }

    static void pause() { _mm_pause(); }
    static void yield() { sched_yield(); }

    // These need WAITPKG. Each ends by itself: within about 0.2 us, and within a few.
    static void timed_pause();
    static void monitored_wait();
    // What `monitored_wait` waits for: a write, by whoever, to the cache line of `address`. A
    // write before this call goes unnoticed: look once more between the two.
    static void monitor(void const* address);
};

// `polls`: unsuccessful polls so far in a row.
inline void pause_or_yield(std::uint32_t polls, bool oversubscribed) {
    if (oversubscribed || polls >= polls_before_yield) {
        sched_yield();
    } else {
        _mm_pause();
    }
}

}  // namespace carillon::detail::cpu
