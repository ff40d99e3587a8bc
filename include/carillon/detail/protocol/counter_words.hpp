// SPDX-License-Identifier: Apache-2.0
// What a channel's client says of its own work. In host memory, on a line that nobody else writes:
// the client stores, whoever watches loads. The client keeps none of these elsewhere, so that
// counting is one store where there was one, and one for each reply.
#pragma once

#include <atomic>
#include <cstdint>

#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

struct CounterWords {
    Sequence submitted;     // the number of the last request
    Sequence taken;         // of the last reply that has left the ring
    std::uint64_t stalls;   // requests that met a full ring
    std::uint64_t dropped;  // requests whose reply was given up

#if !defined(__CUDACC_RTC__)  // the host's
    // Relaxed, all of it: numbers that are looked at by themselves.
    static void store(std::uint64_t& word, std::uint64_t value) {
        std::atomic_ref(word).store(value, std::memory_order_relaxed);
    }
    [[nodiscard]] static std::uint64_t load(std::uint64_t& word) {
        return std::atomic_ref(word).load(std::memory_order_relaxed);
    }
    static void count(std::uint64_t& word) { store(word, load(word) + 1); }
#endif
};

// Of a channel through which nothing has gone.
[[nodiscard]] inline CounterWords no_counts(Sequence first) { return {first - 1, first - 1, 0, 0}; }

}  // namespace carillon::detail
