// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/channel_routes.hpp"

#include <fmt/format.h>

#include <limits>

#include "carillon/detail/host/checks.hpp"
#include "carillon/error.hpp"

namespace carillon::detail {
namespace {

unsigned channels_of_blocks(KernelOptions const& options, unsigned each) {
    if (blocks_of(options) > std::numeric_limits<unsigned>::max() / 2 / each) {
        throw UsageError(fmt::format("{} blocks are too many", blocks_of(options)));
    }
    return blocks_of(options) * each;
}

}  // namespace

unsigned channels_of(Channels const& requests, KernelOptions const& options) {
    check_options(options);
    return channels_of_blocks(options, 1) * (requests.express ? 2 : 1);
}

unsigned channels_of(WatchedChannels const& requests, KernelOptions const& options) {
    check_options(options);
    if (requests.per_block < 2 || requests.per_block > doorbells_per_block) {
        throw UsageError(fmt::format("{} channels a block: one warp watches 2 to {}",
                                     requests.per_block, doorbells_per_block));
    }
    return channels_of_blocks(options, requests.per_block);
}

std::shared_ptr<ChannelMemory> callers_memory(Device const& device,
                                              std::shared_ptr<ChannelMemory> memory,
                                              unsigned channels, ChannelShape const& shape) {
    auto checked = checked_memory(device, std::move(memory), 0, shape, false);
    if (channels > checked->channels()) {
        throw UsageError("more blocks than the memory has channels for them");
    }
    return ChannelMemory::taken_by_kernel(std::move(checked));
}

std::shared_ptr<ChannelMemory> make_watched_memory(Device const& device,
                                                   WatchedChannels const& requests,
                                                   KernelOptions const& options,
                                                   ChannelShape const& shape) {
    unsigned const channels = channels_of(requests, options);
    check_capacity(options.capacity);
    return std::make_shared<ChannelMemory>(device, channels, shape);
}

}  // namespace carillon::detail
