// SPDX-License-Identifier: Apache-2.0
// A client's counts of its channel. In host memory, on a line that nobody else writes: the client
// stores, monitors load. The client keeps no other copy of them, so counting costs one store for
// each reply.
#pragma once

#include <atomic>
#include <cstdint>

#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

struct CounterWords {
    Sequence submitted;     // the number of the last request
    Sequence taken;         // the number of the last reply taken from the ring
    std::uint64_t stalls;   // requests that met a full ring
    std::uint64_t dropped;  // requests whose reply was given up

#if !defined(__CUDACC_RTC__)  // the host's
    // Relaxed: each number is read by itself.
    static void store(std::uint64_t& word, std::uint64_t value) {
        std::atomic_ref(word).store(value, std::memory_order_relaxed);
    }
    [[nodiscard]] static std::uint64_t load(std::uint64_t& word) {
        return std::atomic_ref(word).load(std::memory_order_relaxed);
    }
    static void count(std::uint64_t& word) { store(word, load(word) + 1); }
#endif
};

// The counts of an unused channel.
[[nodiscard]] inline CounterWords no_counts(Sequence first) { return {first - 1, first - 1, 0, 0}; }

}  // namespace carillon::detail
