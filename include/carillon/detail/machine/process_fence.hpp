// SPDX-License-Identifier: Apache-2.0
// A full fence between the threads of one process that costs one side no instruction.
#pragma once

#include <atomic>

#include "carillon/detail/wire/language.hpp"

namespace carillon::detail::cpu {

// Two threads each store a word, call one of these, and load the other's word. At least one of the
// loads sees the other thread's store.
struct ProcessFence {
    // For the thread that does this often. The compiler keeps the store ahead of the load; the CPU
    // need not.
    static void light() { std::atomic_signal_fence(std::memory_order_seq_cst); }
    // For the other thread: puts a full fence into every thread of this process. This takes
    // microseconds, or milliseconds the first time.
    static void heavy() noexcept;
};

}  // namespace carillon::detail::cpu
