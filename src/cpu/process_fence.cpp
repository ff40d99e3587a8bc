// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/machine/process_fence.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace carillon {
namespace {

// Longer than any CPU keeps a store in its buffer: for a system without membarrier(2).
constexpr std::chrono::milliseconds longest_buffered{20};

bool membarrier(int command) { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }

}  // namespace

void detail::cpu::ProcessFence::heavy() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    // Registering again costs nothing.
    if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
        membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
        return;
    if (membarrier(MEMBARRIER_CMD_GLOBAL)) return;  // before Linux 4.14
    std::this_thread::sleep_for(longest_buffered);
}

}  // namespace carillon
