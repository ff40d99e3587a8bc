// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/pool_state.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "carillon/detail/host/argument_checks.hpp"
#include "carillon/error.hpp"
#include "error/sizes.hpp"

namespace carillon::detail {
namespace {

void require_pool(KernelOptions const& options, unsigned threads) {
    Pool const& pool = options.pool;
    check_options(options);
    check_capacity(options.capacity);
    if (pool.clients == 0 || pool.replies == 0) {
        throw UsageError("Pool::clients and Pool::replies must be at least 1");
    }
    require_senders(pool.clients);
    require_reply_slots(std::uint64_t{pool.clients} * pool.replies);
    if (pool.stripe > 1 && threads > 1) {
        throw UsageError(
            fmt::format("a stripe of {} is too large: a block whose threads run the handler "
                        "together takes one request at a time",
                        pool.stripe));
    }
    if (std::uint64_t{blocks_of(options)} * pool.stripe > options.capacity) {
        throw UsageError(fmt::format(
            "{} blocks that take {} requests at a time need more than the ring's {} slots",
            blocks_of(options), pool.stripe, options.capacity));
    }
    require_stripe(pool.stripe, options.capacity);
}

// A block that has the ring to itself claims many requests at once: no other waits for them. The
// threads of a block that run a handler together take one at a time.
std::uint32_t stripe_of(KernelOptions const& options, unsigned threads) {
    constexpr std::uint32_t most = 16;
    std::uint32_t const stripe = options.pool.stripe;
    if (stripe > 1 || blocks_of(options) > 1 || threads > 1) return stripe;
    return std::clamp(options.capacity / 8, 1U, most);
}

}  // namespace

PoolState::PoolState(Device const& device, KernelOptions const& options, unsigned threads,
                     MessageShape const& requests, MessageShape const& replies)
    : replies_((require_pool(options, threads), options.pool.replies)),
      count_(options.pool.clients * options.pool.replies),
      warps_(options.pool.stripe > 1),
      shape_(replies),
      blocks_(make_block_lines(device, blocks_of(options))),
      slots_(
          device.allocate_host(count_ * (shape_.slot_lines * sizeof(Line) + sizeof(std::uint64_t)) +
                               sizeof(std::uint64_t))),
      records_(options.pool.clients),
      ring_(std::make_shared<MpmcRingState>(device,
                                            MpmcRingOptions{.capacity = options.capacity,
                                                            .stripe = stripe_of(options, threads),
                                                            .producers = options.pool.clients},
                                            Direction::to_device, requests)),
      wait_(HostWait::for_kernel(device.traits(), blocks_of(options), options.wait)) {
    format_reply_slots(host_reply_slots(), 1);
    ring_->reclaim = [this](unsigned client) { reclaim(client); };
}

ReplySlots PoolState::reply_slots_at(void* begin) const {
    auto* const lines = static_cast<Line*>(begin);
    auto* const words =
        reinterpret_cast<std::uint64_t*>(lines + std::size_t{count_} * shape_.slot_lines);
    return {lines, words, words + count_, count_, shape_};
}

void PoolState::reclaim(unsigned client) {
    HostCached const near;
    // Relaxed, also below: the dead thread's mutex orders its record before this (ClientRecord).
    std::uint32_t const sends_at = record(client).sends_at.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < replies_; ++i) {
        std::uint32_t const slot = first_slot(client) + i;
        bool const sent = sends_at != slot + 1 || was_sent(client);
        leave_for_the_dead(host_reply_slots(), slot, sent, near);
    }
}

bool PoolState::was_sent(unsigned client) const {
    HostCached const near;
    ProducerRecord const& claims = ring_->memory.records()[client];
    Sequence const begin = near.load_word(&claims.begin);
    if (begin == ProducerRecord::claiming) return false;
    if (begin == ProducerRecord::none) {
        // Relaxed, see reclaim().
        Sequence const before = records_[client].claimed_before.load(std::memory_order_relaxed);
        return near.load_word(&claims.end) != before;
    }
    HostCached const far_as_well(ring_->memory.device_memory().range_sync());
    return was_written(ring_->memory.host_view(), begin, far_as_well);
}

bool PoolState::all_answered() const {
    HostCached const near;
    ReplySlots const slots = host_reply_slots();
    for (std::uint32_t i = 0; i < count_; ++i) {
        // 2n if call n is over or given up, 2n - 1 during it.
        std::uint64_t const number = (near.load_word(slots.words + i) + 1) / 2;
        if (!has_reply(slots, i, tag_of(number), near)) return false;
    }
    return true;
}

}  // namespace carillon::detail
