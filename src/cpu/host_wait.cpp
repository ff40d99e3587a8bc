// SPDX-License-Identifier: Apache-2.0
#include "carillon/wait.hpp"

#include <cpuid.h>
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "carillon/detail/machine/pause.hpp"
#include "carillon/error.hpp"

namespace carillon {
namespace {

constexpr std::array<std::string_view, 5> names{"spin", "pause", "yield", "tpause", "umwait"};

// C0.1, the lighter of the two sleeps: it saves less and wakes sooner.
constexpr unsigned light_sleep = 1;
// In ticks of the time stamp counter, 2 to 4 for each nanosecond. A timed pause does not see the
// awaited write, so it is short. A monitored wait does; its bound is for a write that was missed.
constexpr std::uint64_t pause_ticks = 512;
constexpr std::uint64_t wait_ticks = 8192;

}  // namespace

std::string_view to_string(WaitStyle style) { return names.at(static_cast<std::size_t>(style)); }

std::optional<WaitStyle> wait_style(NameArgument name) {
    auto const* const found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return {};
    return static_cast<WaitStyle>(found - names.begin());
}

bool supported(WaitStyle style) {
    return !detail::needs_waitpkg(style) || detail::cpu::has_waitpkg();
}

void detail::throw_no_waitpkg(WaitStyle style) {
    throw UnsupportedError("this CPU lacks WAITPKG, which the wait style " +
                           std::string(to_string(style)) + " needs: use spin, pause or yield");
}

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
