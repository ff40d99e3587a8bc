// SPDX-License-Identifier: Apache-2.0
#include "cpu.hpp"

#include <sched.h>

#include "carillon/access/pause.hpp"
#include "carillon/error.hpp"

namespace carillon {

unsigned cpu::available_processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
    int const count = CPU_COUNT(&set);
    return count < 1 ? 1U : static_cast<unsigned>(count);
}

void detail::require_single_copy_16_bytes(std::string_view call) {
    if (__builtin_cpu_supports("avx") == 0) {
        throw UnsupportedError(call,
                               "this CPU lacks AVX, so a 16-byte load may be torn into halves");
    }
}

}  // namespace carillon
