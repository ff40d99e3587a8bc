// SPDX-License-Identifier: Apache-2.0
// How a CPU thread spends the time between two polls, for HostWait and the emulated device.
#pragma once

#include <emmintrin.h>
#include <sched.h>

#include <cstdint>

#include "carillon/detail/wire/language.hpp"

namespace carillon::detail::cpu {

// The number of consecutive polls before a thread yields its processor: a few microseconds, if
// every thread has a processor of its own.
inline constexpr std::uint32_t polls_before_yield = 128;

// The number of processors that this thread may run on (sched_getaffinity); at least 1.
[[nodiscard]] unsigned available_processors();

// Whether the CPU has TPAUSE, UMONITOR and UMWAIT (CPUID: WAITPKG).
[[nodiscard]] bool has_waitpkg();

// The ways in which a CPU waits. HostWait takes this class as a parameter: the tests substitute a
// class that records.
class Waits {
   public:
    [[nodiscard]] static bool has_waitpkg() { return cpu::has_waitpkg(); }

    static void pause() { _mm_pause(); }
    static void yield() { sched_yield(); }

    // These need WAITPKG. timed_pause() ends within about 0.2 us, monitored_wait() within a few us.
    static void timed_pause();
    static void monitored_wait();
    // Selects the cache line of `address`: monitored_wait() waits for any write to it. An earlier
    // write goes unnoticed, so look once more between the two calls.
    static void monitor(void const* address);
};

void sleep(std::uint32_t ns);

// `polls` is the number of consecutive failed polls so far.
inline void pause_or_yield(std::uint32_t polls, bool oversubscribed) {
    if (oversubscribed || polls >= polls_before_yield) {
        sched_yield();
    } else {
        _mm_pause();
    }
}

}  // namespace carillon::detail::cpu
