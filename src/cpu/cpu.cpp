// SPDX-License-Identifier: Apache-2.0
#include "cpu/cpu.hpp"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "carillon/detail/machine/pause.hpp"
#include "carillon/detail/machine/process_fence.hpp"
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

// Longer than any CPU keeps a store in its buffer: for a system without membarrier(2).
constexpr std::chrono::milliseconds longest_buffered{20};

bool membarrier(int command) { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }

// A process that registers with one thread does so at once, and its forked children are registered.
// With several threads it waits for all processors: 15 ms, on a busy machine seconds.
[[maybe_unused]] bool const registered_at_start =
    __libc_single_threaded != 0 && membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);

}  // namespace

unsigned detail::cpu::available_processors() {
    cpu_set_t const set = own_cores();
    int const count = CPU_COUNT(&set);
    return count < 1 ? 1U : static_cast<unsigned>(count);
}

void detail::cpu::sleep(std::uint32_t ns) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
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
        throw UnsupportedError(
            "this CPU lacks AVX, so 16-byte loads may be torn: use a CPU with AVX, or pass the "
            "host's CPU through to this virtual machine");
    }
}

void detail::cpu::ProcessFence::heavy() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    // Usually registered already; then this costs nothing.
    if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
        membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
        return;
    if (membarrier(MEMBARRIER_CMD_GLOBAL)) return;  // before Linux 4.14
    std::this_thread::sleep_for(longest_buffered);
}

}  // namespace carillon
