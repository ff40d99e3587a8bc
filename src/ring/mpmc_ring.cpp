// SPDX-License-Identifier: Apache-2.0
#include "carillon/mpmc_ring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "carillon/detail/host/argument_checks.hpp"
#include "carillon/detail/machine/process_fence.hpp"
#include "error/sizes.hpp"

namespace carillon::detail {
namespace {

void check(MpmcRingOptions const& options, Direction direction) {
    check_capacity(options.capacity);
    require_stripe(options.stripe, options.capacity);
    check_first(options.for_tests.first);
    if ((options.for_tests.first - 1) % options.stripe != 0) {
        throw UsageError(fmt::format(
            "the first message's number, {}, is not 1 more than a multiple of the stripe, {}",
            options.for_tests.first, options.stripe));
    }
    // A warp claims for all of its lanes at once, and all but one slot of a stripe may be in use.
    if (direction == Direction::to_host && options.capacity - options.stripe + 1 < lanes_per_warp) {
        throw UsageError(fmt::format(
            "a capacity of {} with stripes of {} never has room for a warp's {} messages",
            options.capacity, options.stripe, lanes_per_warp));
    }
    require_senders(options.producers);
    if (options.consumers == 0) {
        throw UsageError("MpmcRingOptions::consumers is 0: at least one is needed");
    }
}

// Each consumer holds a stripe.
unsigned host_consumers(MpmcRingOptions const& options, Direction direction) {
    if (direction == Direction::to_device) return 0;
    return std::min(options.consumers, options.capacity / options.stripe);
}

}  // namespace

MpmcRingMemory::MpmcRingMemory(Device const& device, MpmcRingOptions const& options,
                               Direction direction, MessageShape const& shape) {
    check(options, direction);
    MpmcRingLayout const at(options.capacity, shape.slot_lines, options.stripe, options.producers,
                            device.info().atom_size);
    bool const to_device = direction == Direction::to_device;
    in_device_memory_ =
        device.allocate(to_device ? at.of_consumers.size() : at.of_producers.size());
    in_host_memory_ =
        device.allocate_host(to_device ? at.of_producers.size() : at.of_consumers.size());
    auto const view = [&](void* of_consumers, void* of_producers) {
        auto* const there = static_cast<std::byte*>(of_consumers);
        auto* const here = static_cast<std::byte*>(of_producers);
        return MpmcRingView{reinterpret_cast<Line*>(there + at.lines),
                            reinterpret_cast<std::uint64_t*>(there + at.given_up),
                            reinterpret_cast<std::uint64_t*>(there + at.taken),
                            reinterpret_cast<std::uint64_t*>(there + at.left),
                            reinterpret_cast<std::uint64_t*>(here + at.claimed),
                            reinterpret_cast<std::uint64_t*>(here + at.credits),
                            options.capacity,
                            static_cast<std::uint32_t>(std::countr_zero(options.stripe)),
                            options.for_tests.first,
                            shape};
    };
    void* const device_here = in_device_memory_.host_ptr();
    void* const device_there = in_device_memory_.device_ptr();
    void* const host_here = in_host_memory_.host_ptr();
    void* const host_there = in_host_memory_.device_ptr();
    host_ = to_device ? view(device_here, host_here) : view(host_here, device_here);
    device_ = to_device ? view(device_there, host_there) : view(host_there, device_there);
    if (to_device) {
        records_ =
            reinterpret_cast<ProducerRecord*>(static_cast<std::byte*>(host_here) + at.records);
    }
    format_ring(host_);
    in_device_memory_.flush(0, in_device_memory_.size());
}

MpmcRingState::MpmcRingState(Device const& device, MpmcRingOptions const& options,
                             Direction direction, MessageShape const& shape)
    : memory(device, options, direction, shape),
      registry(memory.records(), options.producers),
      consumers(host_consumers(options, direction)),
      consumer_records(consumers.size()),
      far(device.access(memory.device_memory())),
      wait(HostWait::for_kernel(device.traits(), 1)) {}

unsigned MpmcRingState::enter(std::string_view which) {
    mark.require_own();
    auto number = registry.try_enter();
    if (!number && recover() != 0) number = registry.try_enter();
    if (!number) throw UsageError(fmt::format("all {} {}", registry.size(), which));
    return *number;
}

unsigned MpmcRingState::enter_consumer(ConsumerRecord& record) {
    mark.require_own();
    auto number = consumers.try_enter();
    if (!number && recover_consumers() != 0) number = consumers.try_enter();
    if (!number) {
        throw UsageError(
            fmt::format("all {} consumers of the ring are in use (MpmcRingOptions::consumers, at "
                        "most one per stripe)",
                        consumers.size()));
    }
    consumer_records[consumers.index(*number)].store(&record, std::memory_order_relaxed);
    return *number;
}

void throw_maker_ended(std::string_view what) {
    throw UsageError(
        fmt::format("the thread that made this {} has ended, and another {} may have its place and "
                    "its messages: each thread must make its own",
                    what, what));
}

unsigned MpmcRingState::recover_consumers() {
    return consumers.recover([&](std::vector<unsigned> const& dead) {
        // S10, pairs with S11: the thread's death is stored (LifeRegistry::holder) before the look
        // whether another thread polls with its end.
        cpu::ProcessFence::heavy();
        bool all = true;
        for (unsigned i : dead) {
            ConsumerRecord& record = *consumer_records[i].load(std::memory_order_relaxed);
            Sequence const begin = record.begin.load(std::memory_order_acquire);
            if (begin == ConsumerRecord::polling) {
                all = false;  // later, when its poll is over
                continue;
            }
            if (begin != ConsumerRecord::none && !record.handed_on) {
                leave_for_the_dead(memory.host_view(), HostCached(), far, begin,
                                   record.next.load(std::memory_order_relaxed));
            }
            record.handed_on = true;
        }
        return all;
    });
}

}  // namespace carillon::detail
