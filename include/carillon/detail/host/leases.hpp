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
#include "carillon/detail/host/kernel_supervisor.hpp"
#include "carillon/detail/host/message_types.hpp"
#include "carillon/detail/protocol/lease.hpp"
#include "carillon/device.hpp"
#include "carillon/kernel_options.hpp"
#include "carillon/memory.hpp"

namespace carillon::detail {

// Which client of another process has which block of a kernel, and by which memory. From any
// thread.
class Leases {
   public:
    // Throws UsageError for the options, and what Device::allocate throws.
    Leases(Device const& device, KernelOptions const& options, ChannelShape const& shape,
           MessageTypes types);
    Leases(Leases const&) = delete;
    Leases& operator=(Leases const&) = delete;

    // For each block a channel, of which it uses the control and status lines.
    [[nodiscard]] std::shared_ptr<ChannelMemory> const& blocks() const { return blocks_; }
    [[nodiscard]] LeaseTable device_view() const;
    [[nodiscard]] MessageTypes const& types() const { return types_; }
    [[nodiscard]] ChannelShape const& shape() const { return shape_; }
    [[nodiscard]] Device const& device() const { return device_; }

    // The kernel that serves, once it runs.
    void own(std::shared_ptr<KernelSupervisor> kernel) { kernel_ = std::move(kernel); }
    [[nodiscard]] std::shared_ptr<KernelSupervisor> const& kernel() const { return kernel_; }

    // Lends a block that nobody has to a client of `user`: memory that another user's client has
    // had is never lent, since it may be mapped there still. There is memory for each block from
    // the beginning on; more is allocated beside the kernel. Nothing if every block is lent, or if
    // other users have had too much memory. Throws what Device::allocate throws.
    struct Lent {
        unsigned block;
        std::shared_ptr<ChannelMemory> memory;
    };
    [[nodiscard]] std::optional<Lent> begin(std::uint32_t user, ChannelSharing sharing);
    // Takes a block back; it is lent anew once it has left the memory. Throws VulkanError where
    // that could not be told.
    void end(unsigned block);
    // Where a client's rings are best: in the device's memory, if that has a descriptor.
    [[nodiscard]] static ChannelSharing sharing_for(Device const& device);
    // Whether a block is about to be free: its client has gone, and it is at that one's last
    // request.
    [[nodiscard]] bool any_ends() const;
    // Nothing more comes from its client: a drain does not wait for it.
    void drained(unsigned block);

    // Whether a client has a block, or may have it in use still.
    [[nodiscard]] bool lent(unsigned block) const;
    // Whether no client awaits a reply, as far as is known: none has a block, or those that do have
    // said so.
    [[nodiscard]] bool all_drained() const;
    // How many channels' memory there is, and how many blocks are lent.
    [[nodiscard]] std::size_t memories() const;
    [[nodiscard]] unsigned count() const;
    // What the client that has a block counts, nothing where nobody has it; and those before it.
    struct Counters {
        ChannelCounters now;
        ChannelCounters gone;
    };
    [[nodiscard]] Counters counters(unsigned block) const;

   private:
    using Writer = LeaseWriter<HostCached, HostMapped>;
    struct Region {
        std::shared_ptr<ChannelMemory> memory;
        std::optional<std::uint32_t> user = std::nullopt;  // that has had it
        bool used = false;
    };
    struct Slot {
        Writer writer;
        Region* region = nullptr;  // that the block may be at
        bool drained = false;
        ChannelCounters gone{};
    };

    [[nodiscard]] LeaseTable view(void* lines, void* status) const;
    // Blocks that have left their memory give it back.
    void collect();
    // One that is not used, or nullptr where there are as many as may be.
    [[nodiscard]] Region* region_for(std::uint32_t user, ChannelSharing sharing);
    Region& add_region(ChannelSharing sharing);

    Device device_;
    ChannelShape shape_;
    MessageTypes types_;
    std::shared_ptr<ChannelMemory> blocks_;
    Memory lines_;
    Memory status_;
    mutable std::mutex mutex_;
    std::vector<std::unique_ptr<Region>> regions_;
    std::vector<Slot> slots_;  // of each block
    Sequence next_first_ = 1;
    std::shared_ptr<KernelSupervisor> kernel_;
};

}  // namespace carillon::detail
