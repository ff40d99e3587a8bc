// SPDX-License-Identifier: Apache-2.0
// The memory of an MPMC ring, and what the host threads that use it have in common.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "carillon/detail/access/host_cached.hpp"
#include "carillon/detail/access/host_mapped.hpp"
#include "carillon/detail/host/life_registry.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/producer_registry.hpp"
#include "carillon/detail/protocol/mpmc_ring.hpp"
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
    // Of the memory that the host writes: far for its producers, or its consumers' credits.
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

// What a host thread that takes messages holds, for whoever finds that it has died: each end has
// one of its own, since another thread may use the end still. `begin` is stored with release and
// loaded with acquire: `next` goes with it.
struct alignas(64) ConsumerRecord {
    static constexpr Sequence none = 0;
    static constexpr Sequence polling = ~0ULL;  // it may be another by now

    std::atomic<Sequence> begin = none;  // of the stripe that it holds, or one of the two above
    std::atomic<Sequence> next = 0;      // the first message there that it has not taken
    bool handed_on = false;  // with the registry's mutex: another consumer goes on there
};

// What the host threads that use one ring have in common.
struct MpmcRingState {
    // Throws as MpmcRingMemory.
    MpmcRingState(Device const& device, MpmcRingOptions const& options, Direction direction,
                  MessageShape const& shape);

    ProcessMark mark;
    MpmcRingMemory memory;
    ProducerRegistry registry;
    LifeRegistry consumers;
    std::vector<std::atomic<ConsumerRecord*>> consumer_records;  // by the place
    HostMapped far;
    HostWait wait;

    // A record for the calling thread; that of one that died, if there is no other. Throws
    // UsageError when all are in use, which `which` says.
    [[nodiscard]] unsigned enter(std::string_view which);
    unsigned recover() { return registry.recover(memory.host_view(), far, HostCached(), bury); }
    void give_up(unsigned producer) const noexcept {
        registry.give_up(producer, memory.host_view(), far);
    }

    // The same for a consumer.
    [[nodiscard]] unsigned enter_consumer(ConsumerRecord& record);
    // Leaves to other consumers what those whose threads have died held; returns how many had died.
    unsigned recover_consumers();

    // Called for each of the host's producers that is found dead: ProducerRegistry::recover.
    std::function<void(unsigned)> bury = [](unsigned) {};
};

// `what`: the end that its thread has made.
[[noreturn]] void throw_maker_ended(std::string_view what);

// Makes a producer of what has a ring; `which` is for errors.
struct MpmcProducerAccess {
    template <class T>
    [[nodiscard]] static HostMpmcProducer<T> make(
        std::shared_ptr<MpmcRingState> state,
        std::string_view which = "producers of the ring are in use (MpmcRingOptions::producers)") {
        return {std::move(state), which};
    }
};

}  // namespace carillon::detail
