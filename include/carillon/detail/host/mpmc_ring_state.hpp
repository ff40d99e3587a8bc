// SPDX-License-Identifier: Apache-2.0
// The memory of an MPMC ring, and the common state of its host threads.
#pragma once

#include <atomic>
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
#include "carillon/memory.hpp"
#include "carillon/ring.hpp"
#include "carillon/wait.hpp"

namespace carillon {
struct MpmcRingOptions;
template <class T>
class HostMpmcProducer;
}  // namespace carillon

namespace carillon::detail {

// The memory of an MPMC ring on both sides of the bus.
class MpmcRingMemory {
   public:
    // Throws UsageError for the options, and what Device::allocate throws.
    MpmcRingMemory(Device const& device, MpmcRingOptions const& options, Direction direction,
                   MessageShape const& shape = {});

    [[nodiscard]] MpmcRingView host_view() const { return host_; }
    [[nodiscard]] MpmcRingView device_view() const { return device_; }
    // The memory that the host writes: far for its producers, or for its consumers' credits.
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
// record, since another thread may still use the end. `begin` is stored with release and loaded
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

    // A place for the calling thread; that of a dead thread if no other is free. Throws UsageError
    // with `which` if all are in use.
    [[nodiscard]] unsigned enter(std::string_view which);
    unsigned recover() { return registry.recover(memory.host_view(), far, HostCached(), reclaim); }
    void give_up(unsigned producer) const noexcept {
        registry.give_up(producer, memory.host_view(), far);
    }

    // A place for a consumer, see enter().
    [[nodiscard]] unsigned enter_consumer(ConsumerRecord& record);
    // Leaves the stripes of dead consumers to others; returns how many had died.
    unsigned recover_consumers();

    // Called for each of the host's producers that is found dead: ProducerRegistry::recover.
    std::function<void(unsigned)> reclaim = [](unsigned) {};
};

// `what` is the end that the thread has made.
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
