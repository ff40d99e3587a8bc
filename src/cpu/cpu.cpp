// SPDX-License-Identifier: Apache-2.0
#include "cpu/cpu.hpp"

#include <sched.h>

#include "carillon/detail/machine/pause.hpp"
#include "carillon/error.hpp"

namespace carillon {

namespace {

// The cores of the calling thread; empty if unknown.
cpu_set_t own_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) CPU_ZERO(&set);
    return set;
}

cpu_set_t const cores_at_start = own_cores();

}  // namespace

unsigned detail::cpu::available_processors() {
    cpu_set_t const set = own_cores();
    int const count = CPU_COUNT(&set);
    return count < 1 ? 1U : static_cast<unsigned>(count);
}

void detail::leave_pinned_cores() noexcept {
    cpu_set_t const now = own_cores();
    if (CPU_COUNT(&now) != 1) return;
    cpu_set_t others;
    CPU_XOR(&others, &cores_at_start, &now);
    CPU_AND(&others, &others, &cores_at_start);
    if (CPU_COUNT(&others) != 0) (void)sched_setaffinity(0, sizeof(others), &others);
}

void detail::require_single_copy_16_bytes() {
    if (__builtin_cpu_supports("avx") == 0) {
        throw UnsupportedError("this CPU lacks AVX, so a 16-byte load may be torn into halves");
    }
}

}  // namespace carillon
