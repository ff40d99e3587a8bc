// SPDX-License-Identifier: Apache-2.0
#include "error/sizes.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <bit>

#include "carillon/error.hpp"

namespace carillon::detail {
namespace {

constexpr std::size_t most_addressable = PTRDIFF_MAX;
constexpr std::uint64_t most_reply_slots = 1U << 24;
constexpr std::uint64_t most_threads = 1U << 22;  // the most that Linux numbers

}  // namespace

void require_addressable(std::size_t size) {
    if (size <= most_addressable) return;
    throw OutOfMemoryError(
        fmt::format("{} bytes requested, but a program can address {}", size, most_addressable));
}

std::size_t sum_of_sizes(std::size_t size, std::size_t more) {
    require_addressable(size);
    require_addressable(more);
    require_addressable(size + more);
    return size + more;
}

void require_machine_memory(std::size_t size) {
    auto const machine = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
                         static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    if (size <= machine) return;
    throw OutOfMemoryError(
        fmt::format("{} bytes requested, but this machine has {}", size, machine));
}

void require_reply_slots(std::uint64_t slots) {
    if (slots != 0 && slots <= most_reply_slots) return;
    throw UsageError(
        fmt::format("{} reply slots requested: a kernel has 1 to {}", slots, most_reply_slots));
}

void require_senders(std::uint64_t senders) {
    if (senders != 0 && senders <= most_threads) return;
    throw UsageError(
        fmt::format("{} sending threads requested: there can be 1 to {}", senders, most_threads));
}

void require_stripe(std::uint32_t stripe, std::uint32_t capacity) {
    if (std::has_single_bit(stripe) && stripe <= capacity / 2) return;
    throw UsageError(fmt::format("a stripe of {} is not a power of two up to half the capacity, {}",
                                 stripe, capacity));
}

void require_range(std::size_t offset, std::size_t size, std::size_t limit) {
    if (offset > limit || size > limit - offset) {
        throw UsageError(fmt::format("{} bytes from byte {} on exceed the memory of {} bytes", size,
                                     offset, limit));
    }
}

void throw_null_bytes(std::size_t size) {
    throw UsageError(fmt::format("{} bytes requested at a null pointer", size));
}

}  // namespace carillon::detail
