// SPDX-License-Identifier: Apache-2.0
#include <cpuid.h>
#include <immintrin.h>

#include <cstdint>

#include "carillon/detail/machine/pause.hpp"

namespace carillon {
namespace {

// C0.1, the lighter of the two sleeps: it saves less and wakes sooner.
constexpr unsigned light_sleep = 1;
// In ticks of the time stamp counter, 2 to 4 for each nanosecond. A timed pause does not see the
// awaited write, so it is short. A monitored wait does; its bound is for a write that was missed.
constexpr std::uint64_t pause_ticks = 512;
constexpr std::uint64_t wait_ticks = 8192;

}  // namespace

bool detail::cpu::has_waitpkg() {
    static bool const has = [] {
        unsigned eax = 0;
        unsigned ebx = 0;
        unsigned ecx = 0;
        unsigned edx = 0;
        return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ecx & (1U << 5)) != 0;
    }();
    return has;
}

__attribute__((target("waitpkg"))) void detail::cpu::Waits::timed_pause() {
    _tpause(light_sleep, __rdtsc() + pause_ticks);
}

__attribute__((target("waitpkg"))) void detail::cpu::Waits::monitor(void const* address) {
    _umonitor(const_cast<void*>(address));
}

__attribute__((target("waitpkg"))) void detail::cpu::Waits::monitored_wait() {
    _umwait(light_sleep, __rdtsc() + wait_ticks);
}

}  // namespace carillon
