// SPDX-License-Identifier: Apache-2.0
// The parts of which the CPU's ends of a channel are made. Its memory is this process's own, or
// another's, which lends it.
#pragma once

#include <cstdint>
#include <memory>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/host/channel_lease.hpp"
#include "carillon/detail/host/channel_peer.hpp"
#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/detail/wire/language.hpp"
#include "carillon/wait.hpp"

namespace carillon {
class ChannelMemory;
class CARILLON_LAYOUT Device;
}  // namespace carillon

namespace carillon::detail {

struct ChannelParts {
    ChannelView view;  // as this process sees it
    HostMapped far;
    HostWait wait;
    CounterWords* counters;
    ServedBy served_by;
    std::shared_ptr<ChannelPeer> kernel;    // nullptr: nobody watches it
    std::shared_ptr<ChannelLease> lease{};  // of another process's channel
    // The rest is for a channel of this process's own.
    std::shared_ptr<ChannelMemory> memory{};
    unsigned index = 0;
    std::uint64_t* doorbell = nullptr;
};

// Channel `index` of `memory`. Throws UsageError as checked_memory().
[[nodiscard]] ChannelParts own_channel(Device const& device, std::shared_ptr<ChannelMemory> memory,
                                       unsigned index, ChannelShape const& shape, HostWait wait,
                                       std::shared_ptr<ChannelPeer> kernel,
                                       std::uint64_t* doorbell);
// A channel of new memory, for a kernel that the user writes.
[[nodiscard]] ChannelParts own_channel(Device const& device, ChannelShape const& shape);

// The channel as the device sees it. Throws UsageError if it is another process's, and if a block
// of a PersistentKernel has the device's end.
[[nodiscard]] ChannelView device_channel(ChannelParts const& parts);

}  // namespace carillon::detail
