// SPDX-License-Identifier: Apache-2.0
// The memory of an MpmcRing, and the common state of its host threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/host/life_registry.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/protocol/mpmc_ring_protocol.hpp"
#include "carillon/device.hpp"
#include "carillon/ring.hpp"
#include "carillon/wait.hpp"

namespace carillon {
struct MpmcRingOptions;
template <class T>
class HostMpmcProducer;
}  // namespace carillon

namespace carillon::detail {

// Hands out pieces of a block of memory one after the other.
class Pieces {
   public:
    explicit Pieces(std::size_t unit) : unit_(unit) {}

    std::size_t take(std::size_t size) {
        std::size_t const offset = size_;
        size_ += (size + unit_ - 1) / unit_ * unit_;
        return offset;
    }
    [[nodiscard]] std::size_t size() const { return size_; }

   private:
    std::size_t unit_;
    std::size_t size_ = 0;
};

// The layout. Data that host and device write are two lines apart, because CPUs fetch lines in
// pairs, and in separate atoms, so that the host flushes no atom that the device writes to.
struct MpmcRingLayout {
    MpmcRingLayout(std::size_t capacity, std::size_t slot_lines, std::size_t stripe,
                   std::size_t producers, std::size_t atom)
        : of_consumers(unit(atom)),
          of_producers(unit(atom)),
          lines(of_consumers.take(capacity * slot_lines * sizeof(Line))),
          given_up(of_consumers.take(capacity * sizeof(std::uint64_t))),
          taken(of_consumers.take(sizeof(std::uint64_t))),
          left(of_consumers.take(MpmcRingView::left_words(static_cast<std::uint32_t>(capacity),
                                                          static_cast<std::uint32_t>(stripe)) *
                                 sizeof(std::uint64_t))),
          claimed(of_producers.take(sizeof(std::uint64_t))),
          credits(of_producers.take(capacity / stripe * sizeof(std::uint64_t))),
          records(of_producers.take(producers * sizeof(ProducerRecord))) {}

    [[nodiscard]] static std::size_t unit(std::size_t atom) {
        constexpr std::size_t cache_line_pair = 128;
        return (std::max)(cache_line_pair, atom);
    }

    Pieces of_consumers;
    Pieces of_producers;
    std::size_t lines;  // these four are in the consumers' memory
    std::size_t given_up;
    std::size_t taken;
    std::size_t left;
    std::size_t claimed;  // these three are in the producers'
    std::size_t credits;
    std::size_t records;
};

// The memory of an MPMC ring on both sides of the bus.
class MpmcRingMemory {
   public:
    // Throws UsageError for the options, and what Device::allocate throws.
    MpmcRingMemory(Device const& device, MpmcRingOptions const& options, Direction direction,
                   MessageShape const& shape = {});

    [[nodiscard]] MpmcRingView host_view() const { return host_; }
    [[nodiscard]] MpmcRingView device_view() const { return device_; }
    // The memory that the host writes: for its producers' lines, or for its consumers' credits.
    [[nodiscard]] Memory const& device_memory() const { return in_device_memory_; }
    // The records of the host's producers.
    [[nodiscard]] ProducerRecord* records() const { return records_; }

   private:
    Memory in_device_memory_;
    Memory in_host_memory_;
    MpmcRingView host_{};
    MpmcRingView device_{};
    ProducerRecord* records_ = nullptr;
};

// The stripe of a host consumer, for recovery after its thread's death. Each end has its own
// record, because another thread may still use the end. `begin` is stored with release and loaded
// with acquire: `next` goes with it.
struct alignas(64) ConsumerRecord {
    static constexpr Sequence none = 0;
    static constexpr Sequence polling = ~0ULL;  // it polls: the stripe may have changed

    std::atomic<Sequence> begin = none;  // of its stripe, or one of the two above
    std::atomic<Sequence> next = 0;      // the first message there that it has not taken
    bool handed_on = false;  // under the registry's mutex: another consumer continues its stripe
};

// The common state of the host threads that use one ring.
struct MpmcRingState {
    // Throws what MpmcRingMemory throws.
    MpmcRingState(Device const& device, MpmcRingOptions const& options, Direction direction,
                  MessageShape const& shape);

    ProcessMark mark;
    MpmcRingMemory memory;
    ProducerRegistry registry;
    LifeRegistry consumers;
    std::vector<std::atomic<ConsumerRecord*>> consumer_records;  // by the place
    HostMapped far;
    HostWait wait;

    // Enters the calling thread at a place; at that of a dead thread if no other is free. Throws
    // UsageError with `which` if all are in use.
    [[nodiscard]] unsigned enter(std::string_view which);
    unsigned recover() { return registry.recover(memory.host_view(), far, HostCached(), reclaim); }
    void give_up(unsigned producer) const noexcept {
        registry.give_up(producer, memory.host_view(), far);
    }

    // Enters a consumer, see enter().
    [[nodiscard]] unsigned enter_consumer(ConsumerRecord& record);
    // Leaves the stripes of dead consumers to others; returns how many had died.
    unsigned recover_consumers();

    // Called for each host producer that is found dead, see ProducerRegistry::recover.
    std::function<void(unsigned)> reclaim = [](unsigned) {};
};

// `what` is the end whose thread has ended.
[[noreturn]] void throw_maker_ended(std::string_view what);

// Makes a producer for a class that has a ring; `which` is for errors.
struct MpmcProducerAccess {
    template <class T>
    [[nodiscard]] static HostMpmcProducer<T> make(
        std::shared_ptr<MpmcRingState> state,
        std::string_view which = "producers of the ring are in use (MpmcRingOptions::producers)") {
        return {std::move(state), which};
    }
};

}  // namespace carillon::detail
