// SPDX-License-Identifier: Apache-2.0
// The memory of the rings of channels; detail/protocol/channel_view.hpp says what lies where in it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "carillon/counters.hpp"
#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/device.hpp"

namespace carillon {

using detail::ChannelLocation;
using detail::ChannelShape;
using detail::ChannelTable;
using detail::Sequence;
using detail::ServedBy;
namespace detail {
// Makes all channels of a table empty, at the host's addresses.
void format_channels(ChannelTable const& at);
}  // namespace detail

// Whether other processes may have descriptors of it, and map it.
enum class ChannelSharing : std::uint8_t {
    none,
    exported,            // device memory, and host memory that has a descriptor
    exported_from_host,  // all of it is host memory: for whoever cannot map the device's
};

// Neither copied nor moved: channels refer to it.
class ChannelMemory {
   public:
    // Memory for `channels` channels of `capacity` slots each way, for messages of one line
    // (48 bytes) at most, with both rings empty and the first message numbered `first` (tests place
    // it before a wrap). Throws UsageError and what Device::allocate throws.
    ChannelMemory(Device const& device, unsigned channels, std::uint32_t capacity,
                  Sequence first = 1)
        : ChannelMemory(device, channels, ChannelShape{capacity}, first) {}
    // The same for larger ones: ChannelShape::of<Request, Reply>(capacity). Request slots lie in
    // pairs of pages, of which a block chooses the near ones, where one block serves them.
    ChannelMemory(Device const& device, unsigned channels, ChannelShape const& shape,
                  Sequence first = 1, ChannelSharing sharing = ChannelSharing::none,
                  ServedBy served_by = ServedBy::one_block);

    ChannelMemory(ChannelMemory const&) = delete;
    ChannelMemory& operator=(ChannelMemory const&) = delete;

    // Makes all rings empty again; with another number for the first message. No kernel may be
    // using them. Throws UsageError for the number, and where a PersistentKernel does.
    void reset();
    void reset(Sequence first);
    // Lays channel i at locations[i], and the channels beyond those in what is left, for ends that
    // are made from now on; the rings are made empty. Throws UsageError for a part that is not
    // there or is given twice, and where a PersistentKernel uses them.
    void arrange(std::span<ChannelLocation const> locations);

    [[nodiscard]] unsigned channels() const { return channels_; }             // how many
    [[nodiscard]] std::uint32_t capacity() const { return shape_.capacity; }  // slots, each way
    [[nodiscard]] ChannelShape const& shape() const { return shape_; }
    [[nodiscard]] ChannelSharing sharing() const { return sharing_; }
    [[nodiscard]] ServedBy served_by() const { return served_by_; }
    // Where everything lies, at the host's addresses, and at the device's: pass that to a kernel.
    [[nodiscard]] ChannelTable host_view() const;
    [[nodiscard]] ChannelTable device_view() const;
    // The two blocks of memory, for whoever wants to put something of their own there.
    [[nodiscard]] Memory const& device_memory() const { return in_device_memory_; }
    [[nodiscard]] Memory const& host_memory() const { return in_host_memory_; }
    // What has gone through a channel that is there, since reset(); from any thread.
    [[nodiscard]] ChannelCounters counters(unsigned index) const;

    // For one PersistentKernel at a time: `memory`, with rings that are made empty, until all
    // copies of the result have gone. Throws UsageError.
    [[nodiscard]] static std::shared_ptr<ChannelMemory> taken_by_kernel(
        std::shared_ptr<ChannelMemory> memory);
    // Throws UsageError where a PersistentKernel has it.
    void require_no_kernel() const;

   private:
    void make_empty();

    unsigned channels_;
    ChannelShape shape_;
    ChannelSharing sharing_;
    ServedBy served_by_;
    bool in_pairs_;
    Sequence first_;
    std::vector<ChannelLocation> locations_;  // of every channel; none unless arranged
    Memory in_device_memory_;
    Memory in_host_memory_;
    std::atomic<bool> has_kernel_{false};
};

}  // namespace carillon
