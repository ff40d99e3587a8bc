// SPDX-License-Identifier: Apache-2.0
// A full fence between the threads of one process that costs one side no instruction, for
// PersistentKernel::drain(): a drain learns of every request that a client is about to send,
// although clients neither wait nor fence.
//
//   client: stores the number of the request in a word of its own; then looks at the kernel's
//           state; sends the request, or stores the number before it
//   drain:  changes the state; then waits until the request that each client's word names is
//           answered
//
// A client that does not see the new state has announced its request: the drain sees the number,
// and waits for the reply. A client that sees the state sends nothing.
#pragma once

#include <atomic>

#include "carillon/detail/machine/cpu_atomics.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon::detail::cpu {

// Two threads each store a word, call one of these, and load the other's word. At least one of the
// loads sees the other thread's store.
struct ProcessFence {
    // For the frequent side. The compiler keeps the store ahead of the load; the CPU may not.
    static void light() { std::atomic_signal_fence(std::memory_order_seq_cst); }
    // For the other thread: puts a full fence into every thread of this process. This takes
    // microseconds, or milliseconds the first time.
    static void heavy() noexcept;
};

}  // namespace carillon::detail::cpu

namespace carillon::detail {

// Q1, pairs with Q2: the number comes before the look at the state; otherwise a request could be
// sent after the drain's last look.
template <cpu::WordAtomics Words = cpu::StdWords, class Fence = cpu::ProcessFence>
void announce(Sequence* word, Sequence number, Words const& words = {}, Fence const& fence = {}) {
    words.store(word, number, std::memory_order_relaxed);
    fence.light();
}

// Q2, pairs with Q1: the state comes before the look at the announced numbers; otherwise the drain
// could miss a request that its client still sends.
template <class Fence = cpu::ProcessFence>
void hear_announced(Fence const& fence = {}) {
    fence.heavy();
}

}  // namespace carillon::detail
