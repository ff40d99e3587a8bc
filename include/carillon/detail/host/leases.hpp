// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "carillon/channel_memory.hpp"
#include "carillon/counters.hpp"
#include "carillon/detail/access/host_cached.hpp"
#include "carillon/detail/access/host_mapped.hpp"
#include "carillon/detail/host/counter_watch.hpp"
#include "carillon/detail/host/kernel_supervisor.hpp"
#include "carillon/detail/host/message_types.hpp"
#include "carillon/detail/host/read_counters.hpp"
#include "carillon/detail/protocol/lease.hpp"
#include "carillon/device.hpp"
#include "carillon/kernel_options.hpp"
#include "carillon/memory.hpp"

namespace carillon::detail {

// The first number for the next client of memory whose last one began with `first` and counts
// `used` messages, or whatever it has written there. What that one stores late has numbers up to a
// capacity around its last: the next client's are 2^21 beyond, at least, so that such a line is
// taken for none of the next 2^32 - 2^21 messages.
[[nodiscard]] Sequence first_of_next(Sequence first, std::uint64_t used);

// Which client of another process has which place at a kernel, and by which memory: a block of its
// own, or a place at all of them (SharedPool). From any thread.
class Leases {
   public:
    // Throws UsageError for the options, and what Device::allocate throws.
    Leases(Device const& device, KernelOptions const& options, ChannelShape const& shape,
           MessageTypes types);
    // The same for all blocks, as many as the options say, together.
    Leases(Device const& device, SharedPool const& pool, KernelOptions const& options,
           ChannelShape const& shape, MessageTypes types);
    Leases(Leases const&) = delete;
    Leases& operator=(Leases const&) = delete;

    // For each block a channel, of which it uses the control and status lines.
    [[nodiscard]] std::shared_ptr<ChannelMemory> const& blocks() const { return blocks_; }
    [[nodiscard]] LeaseTable device_view() const;
    [[nodiscard]] MessageTypes const& types() const { return types_; }
    [[nodiscard]] ChannelShape const& shape() const { return shape_; }
    [[nodiscard]] unsigned places() const { return static_cast<unsigned>(slots_.size()); }
    [[nodiscard]] ServedBy served_by() const { return served_by_; }
    [[nodiscard]] Device const& device() const { return device_; }

    // The kernel that serves, once it runs.
    void own(std::shared_ptr<KernelSupervisor> kernel) { kernel_ = std::move(kernel); }
    [[nodiscard]] std::shared_ptr<KernelSupervisor> const& kernel() const { return kernel_; }

    // Lends a place that nobody has to a client of `user`: memory that another user's client has
    // had is never lent, since it may be mapped there still. There is memory for each place from
    // the beginning on, and more is allocated beside the kernel, for four users' clients a place,
    // while this process has few descriptors open (descriptor_room.hpp). For further users memory
    // that nobody uses is freed, the one first that was lent longest ago; on a GPU none can be
    // freed beside a kernel, and a part is kept for the owner's user and root.
    // Nothing if no place is free, the kernel takes no more requests, or no memory is to be had.
    // Throws what Device::allocate throws.
    struct Lent {
        unsigned place;
        std::shared_ptr<ChannelMemory> memory;
    };
    [[nodiscard]] std::optional<Lent> begin(std::uint32_t user, ChannelSharing sharing);
    // Takes a place back; it is lent anew once all that serve it have left the memory. Throws
    // VulkanError where that could not be told.
    void end(unsigned place);
    // Where a client's rings are best: in the device's memory, if that has a descriptor.
    [[nodiscard]] static ChannelSharing sharing_for(Device const& device);
    // Whether a place is about to be free: its client has gone, and a block is at that one's last
    // request; and whether a place is free.
    [[nodiscard]] bool any_ends() const;
    [[nodiscard]] bool any_free() const;
    // Nothing more comes from its client: a drain does not wait for it.
    void drained(unsigned place);

    // Whether a request is outstanding at a place, as far as its client tells: one that it has
    // sent and that is not answered, or the last one of a client that has gone.
    [[nodiscard]] bool outstanding(unsigned place) const;
    // The same of a block.
    [[nodiscard]] bool outstanding_at(unsigned block) const;
    // Whether no client awaits a reply, as far as is known: none has a place, or those that do have
    // said so.
    [[nodiscard]] bool all_drained() const;
    // How many channels' memory there is, and how many places are lent.
    [[nodiscard]] std::size_t memories() const;
    [[nodiscard]] unsigned count() const;
    // What the client that has a place counts, nothing where nobody has it; and those before it.
    [[nodiscard]] LeasedCounters counters(unsigned place) const;
    // Looks at them once more: what is wrong with them that no client of the library's writes, for
    // people; nullptr: nothing (counter_watch.hpp).
    [[nodiscard]] char const* look_at_counters(unsigned place);

   private:
    // `blocks`: how many serve each place, or there is a place for each.
    Leases(Device const& device, unsigned places, ServedBy served_by, unsigned blocks,
           ChannelShape const& shape, MessageTypes types);

    using Writer = LeaseWriter<HostCached, HostMapped>;
    struct Region {
        std::shared_ptr<ChannelMemory> memory;
        std::optional<std::uint32_t> user = std::nullopt;  // that has had it
        bool used = false;
    };
    struct Slot {
        Writer writer;
        Region* region = nullptr;  // that a block may be at
        bool drained = false;
        ChannelCounters gone{};
        CounterWatch watch{};
    };

    [[nodiscard]] static bool outstanding(Slot const& slot);
    [[nodiscard]] LeaseTable view(void* lines, void* status, void* claims) const;
    // Begins the lease of a place that is laid out, or ends it, and tells of it.
    void tell(Slot& slot, ChannelMemory const* begun);
    // Places whose memory all have left give it back.
    void collect();
    // One that is not used, or nullptr where there are as many as may be.
    [[nodiscard]] Region* region_for(std::uint32_t user, ChannelSharing sharing);
    Region& add_region(ChannelSharing sharing);
    // Frees the memory that was lent longest ago of all that are not used. False: there is none, or
    // it cannot be freed now.
    bool free_oldest() noexcept;

    Device device_;
    ChannelShape shape_;
    MessageTypes types_;
    ServedBy served_by_;
    unsigned places_;
    std::shared_ptr<ChannelMemory> blocks_;
    Memory lines_;  // and behind them the news of them
    Memory status_;
    std::optional<Memory> claims_;
    mutable std::mutex mutex_;
    std::vector<std::unique_ptr<Region>> regions_;  // the one that was lent last is the last
    std::vector<Slot> slots_;                       // of each place
    std::optional<LeaseNewsWriter<HostMapped>> news_;
    std::shared_ptr<KernelSupervisor> kernel_;
};

}  // namespace carillon::detail
