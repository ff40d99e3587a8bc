// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/door.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "carillon/error.hpp"

namespace carillon::detail {
namespace {

// The calls in progress. They are not in the objects, whose layout must not depend on the checks:
// each has a word with the object's address and its thread's number, in one of a few entries that
// the address selects. All accesses are relaxed: they find mistakes and protect nothing, and if two
// threads want an entry the exchange alone decides.
constexpr std::size_t words = 4096;
constexpr std::size_t probes = 16;
constexpr unsigned thread_bits = 22;  // Linux numbers at most 2^22 threads
std::array<std::atomic<std::uint64_t>, words> under_way{};

// Leaves out the lowest bits of the address, which are 0, and the highest few.
std::uint64_t end_bits(void const* end) {
    return reinterpret_cast<std::uintptr_t>(end) >> 3 << thread_bits;
}

std::uint64_t word_of(void const* end) {
    thread_local auto const thread = static_cast<std::uint64_t>(gettid());
    return end_bits(end) | thread;
}

std::atomic<std::uint64_t>& entry(void const* end, std::size_t probe) {
    std::uint64_t const hash = (end_bits(end) >> thread_bits) * 0x9e3779b97f4a7c15U;
    return under_way[((hash >> 40) + probe) % words];
}

bool same_end(std::uint64_t one, std::uint64_t other) {
    return one != 0 && one >> thread_bits == other >> thread_bits;
}

// Throws if a thread is already in a call of the end.
void require_no_call(std::uint64_t seen, std::uint64_t mine) {
    if (!same_end(seen, mine)) return;
    constexpr std::uint64_t thread = (std::uint64_t{1} << thread_bits) - 1;
    if (seen == mine) {
        throw UsageError(fmt::format(
            "thread {} calls it inside an unfinished call of the same object: from a signal "
            "handler or a callback, which needs an end, a channel or a client of its own",
            mine & thread));
    }
    throw UsageError(fmt::format(
        "thread {} calls it while thread {} is in a call of the same object, which is for one "
        "thread at a time: give each thread its own end, channel or client, or hold a mutex",
        mine & thread, seen & thread));
}

}  // namespace

bool enter_call(void const* end) {
    std::uint64_t const mine = word_of(end);
    // Relaxed, here and below: see under_way.
    for (std::size_t probe = 0; probe < probes; ++probe) {
        require_no_call(entry(end, probe).load(std::memory_order_relaxed), mine);
    }
    for (std::size_t probe = 0; probe < probes; ++probe) {
        std::uint64_t seen = 0;
        if (entry(end, probe).compare_exchange_strong(seen, mine, std::memory_order_relaxed)) {
            return true;
        }
        require_no_call(seen, mine);
    }
    return false;
}

void leave_call(void const* end) noexcept {
    // Relaxed: see under_way.
    for (std::size_t probe = 0; probe < probes; ++probe) {
        std::uint64_t seen = word_of(end);
        if (entry(end, probe).compare_exchange_strong(seen, 0, std::memory_order_relaxed)) return;
    }
}

}  // namespace carillon::detail
