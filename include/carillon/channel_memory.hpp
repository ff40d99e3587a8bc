// SPDX-License-Identifier: Apache-2.0
// `ChannelMemory`: the rings' memory, for programs that allocate it themselves, to use it again or
// for kernels of their own. detail/protocol/channel_view.hpp has its layout.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/device.hpp"  // IWYU pragma: export
#include "carillon/kernel_state.hpp"

namespace carillon {

using detail::ChannelLocation;
using detail::ChannelShape;
using detail::ChannelTable;
using detail::Sequence;
using detail::ServedBy;
namespace detail {
// Empties all channels of a table, which has the host's addresses.
void format_channels(ChannelTable const& at);
}  // namespace detail

// Whether other processes may get descriptors of the memory and map it.
enum class ChannelSharing : std::uint8_t {
    none,
    exported,            // device memory, and host memory with a descriptor
    exported_from_host,  // all of it is host memory: for processes that cannot map device memory
};

// The memory of a number of channels. Neither copied nor moved: channels refer to it.
class ChannelMemory {
   public:
    // Allocates memory for `channels` channels of `capacity` slots each way, a power of two from 2
    // to 2^20, for messages of at most one line (48 bytes). All rings are empty. The first message
    // has number `first`: tests place it before a wrap. Throws UsageError and what Device::allocate
    // throws.
    ChannelMemory(Device const& device, unsigned channels, std::uint32_t capacity,
                  Sequence first = 1)
        : ChannelMemory(device, channels, ChannelShape{capacity}, first) {}
    // For larger messages: pass ChannelShape::of<Request, Reply>(capacity). If one block serves the
    // channels, request slots lie in pairs of pages, and the block chooses the nearer page.
    ChannelMemory(Device const& device, unsigned channels, ChannelShape const& shape,
                  Sequence first = 1, ChannelSharing sharing = ChannelSharing::none,
                  ServedBy served_by = ServedBy::one_block);

    // Empties all rings, and sets the number of the first message if one is given. No kernel may
    // use them. Throws UsageError for the number, and if a PersistentKernel uses them.
    void reset(std::optional<Sequence> first = std::nullopt);
    // Places channel i at locations[i], and the remaining channels in the space left, for ends made
    // from now on. Empties the rings. Throws UsageError for a part that does not exist or is given
    // twice, and if a PersistentKernel uses the memory.
    void arrange(std::span<ChannelLocation const> locations);

    [[nodiscard]] unsigned channels() const { return channels_; }             // their number
    [[nodiscard]] std::uint32_t capacity() const { return shape_.capacity; }  // slots, each way
    [[nodiscard]] ChannelShape const& shape() const { return shape_; }
    [[nodiscard]] ChannelSharing sharing() const { return sharing_; }
    [[nodiscard]] ServedBy served_by() const { return served_by_; }
    // The layout with the host's addresses, and with the device's, which is passed to a kernel.
    [[nodiscard]] ChannelTable host_view() const;
    [[nodiscard]] ChannelTable device_view() const;
    // The two blocks of memory, for programs that keep their own data there.
    [[nodiscard]] Memory const& device_memory() const { return in_device_memory_; }
    [[nodiscard]] Memory const& host_memory() const { return in_host_memory_; }
    // Counts of one channel, which must exist, since reset(); from any thread.
    [[nodiscard]] ChannelCounters counters(unsigned index) const;

    // Gives `memory` to one PersistentKernel at a time, until all copies of the result are
    // destroyed. Empties the rings. Throws UsageError.
    [[nodiscard]] static std::shared_ptr<ChannelMemory> taken_by_kernel(
        std::shared_ptr<ChannelMemory> memory);
    // Throws UsageError if a PersistentKernel uses the memory.
    void require_no_kernel() const;

   private:
    void make_empty();

    unsigned channels_;
    ChannelShape shape_;
    ChannelSharing sharing_;
    ServedBy served_by_;
    bool in_pairs_;
    Sequence first_;
    std::vector<ChannelLocation> locations_;  // every channel's; empty unless arranged
    Memory in_device_memory_;
    Memory in_host_memory_;
    std::atomic<bool> has_kernel_{false};
};

}  // namespace carillon
