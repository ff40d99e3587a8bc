// SPDX-License-Identifier: Apache-2.0
#include "carillon/pooled_kernel.hpp"

#include <fmt/format.h>

namespace carillon::detail {
namespace {

constexpr char const* pooled_kernel = "PooledKernel";
constexpr std::uint32_t slots_of_a_block = 2;  // its channel's rings stay empty

void require_pool(PooledKernelOptions const& options, unsigned threads) {
    PersistentKernelOptions const& kernel = options.kernel;
    if (kernel.channels_per_block != 1 || kernel.express) {
        throw UsageError(pooled_kernel, "blocks that share a ring have no channels of their own");
    }
    if (options.clients == 0 || options.replies == 0) {
        throw UsageError(pooled_kernel, "no client, or no reply, could ever be outstanding");
    }
    if (options.stripe > 1 && threads > 1) {
        throw UsageError(pooled_kernel,
                         fmt::format("a stripe of {}: the threads of a block that run a handler "
                                     "together take one request at a time",
                                     options.stripe));
    }
    if (std::uint64_t{kernel.blocks} * options.stripe > kernel.capacity) {
        throw UsageError(pooled_kernel,
                         fmt::format("{} blocks that take {} requests at a time share a ring of "
                                     "{} slots",
                                     kernel.blocks, options.stripe, kernel.capacity));
    }
}

}  // namespace

PoolHost::PoolHost(Device const& device, PooledKernelOptions const& options, unsigned threads)
    : count_((require_pool(options, threads), options.clients * options.replies)),
      blocks_(std::make_shared<ChannelMemory>(device, options.kernel.blocks, slots_of_a_block)),
      places_(device.allocate_host(count_ * (sizeof(Line) + sizeof(std::uint64_t)) +
                                   sizeof(std::uint64_t))) {
    format_places(places_on_host(), 1);
}

ReplyPlaces PoolHost::places_at(void* begin) const {
    auto* const lines = static_cast<Line*>(begin);
    auto* const words = reinterpret_cast<std::uint64_t*>(lines + count_);
    return {lines, words, words + count_, count_};
}

bool PoolHost::all_answered() const {
    HostCached const near;
    ReplyPlaces const places = places_on_host();
    for (std::uint32_t i = 0; i < count_; ++i) {
        // 2n when call n is over or given up, 2n - 1 while it is not.
        std::uint64_t const number = (near.load_word(places.words + i) + 1) / 2;
        if (!has_arrived(near.load_line(places.lines + i), tag_of(number))) return false;
    }
    return true;
}

}  // namespace carillon::detail
