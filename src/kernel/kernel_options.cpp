// SPDX-License-Identifier: Apache-2.0
#include "carillon/kernel_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <limits>
#include <string_view>

#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/kernel_supervisor.hpp"
#include "carillon/detail/machine/pause.hpp"
#include "carillon/error.hpp"

namespace carillon::detail {
namespace {

template <class Requests, class Of>
void refuse_of_others(Of const& told, std::string_view member, std::string_view type) {
    if (std::same_as<Requests, Of> || told == Of{}) return;
    throw UsageError(fmt::format(
        "KernelOptions::{} is for another type of kernel: PersistentKernel<Handler, {}>", member,
        type));
}

// One block for each processor that a client leaves, or for each SM; more would poll in vain.
unsigned blocks_that_suit(Device const& device) {
    constexpr unsigned most_of_threads = 2;
    constexpr unsigned most_of_a_gpu = 32;
    if (device.traits().shares_processors) {
        return std::min(cpu::available_processors() - 1, most_of_threads);
    }
    return std::min(static_cast<unsigned>(device.info().sm_count.value_or(1)), most_of_a_gpu);
}

void choose_blocks(Device const& device, KernelOptions& options, unsigned most) {
    if (!options.blocks) options.blocks = std::max(1U, std::min(blocks_that_suit(device), most));
}

}  // namespace

template <class Requests>
void settle(Device const& device, KernelOptions& options) {
    refuse_of_others<Requests>(options.channels, "channels", "Channels");
    refuse_of_others<Requests>(options.watched, "watched", "WatchedChannels");
    refuse_of_others<Requests>(options.pool, "pool", "Pool");
    refuse_of_others<Requests>(options.shared_pool, "shared_pool", "SharedPool");
    constexpr bool has_memory =
        std::same_as<Requests, Channels> || std::same_as<Requests, WatchedChannels>;
    if (options.memory != nullptr && !has_memory) {
        throw UsageError("KernelOptions::memory needs a kernel with Channels or WatchedChannels");
    }
    if constexpr (std::same_as<Requests, Pool>) {
        std::uint32_t const stripe = options.pool.stripe;
        choose_blocks(device, options, stripe == 0 ? 1 : options.capacity / stripe);
    } else if constexpr (std::same_as<Requests, SharedPool>) {
        choose_blocks(device, options, std::numeric_limits<unsigned>::max());
    }
}
template void settle<Channels>(Device const&, KernelOptions&);
template void settle<WatchedChannels>(Device const&, KernelOptions&);
template void settle<Pool>(Device const&, KernelOptions&);
template void settle<SharedChannels>(Device const&, KernelOptions&);
template void settle<SharedPool>(Device const&, KernelOptions&);
template void settle<BytesRequests>(Device const&, KernelOptions&);

void check_options(KernelOptions const& options) {
    constexpr std::chrono::milliseconds least_host_limit{10};
    constexpr std::uint32_t longest_sleep_ns = 1'000'000;
    std::chrono::nanoseconds const host_limit = options.host_limit.value_or(least_host_limit);
    if (blocks_of(options) == 0) throw UsageError("0 blocks: a kernel has at least one block");
    if (host_limit.count() != 0 && host_limit < least_host_limit) {
        throw UsageError(
            fmt::format("a host_limit of {} is too short: use 10 ms or more, or 0 for no limit",
                        duration_text(host_limit)));
    }
    if (options.lifetime.count() < 0) {
        throw UsageError(fmt::format("a lifetime of {} is negative: use 0 for no limit, or more",
                                     duration_text(options.lifetime)));
    }
    if (options.idle.longest_sleep_ns > longest_sleep_ns) {
        using std::chrono::nanoseconds;
        throw UsageError(fmt::format("a sleep of {} is too long: a GPU sleeps for at most {}",
                                     duration_text(nanoseconds(options.idle.longest_sleep_ns)),
                                     duration_text(nanoseconds(longest_sleep_ns))));
    }
}

std::chrono::nanoseconds host_silence_limit(KernelOptions const& options,
                                            DeviceTraits const& traits) {
    if (options.host_limit) return *options.host_limit;
    return std::chrono::seconds(traits.kernels_end_with_process ? 0 : 1);
}

KernelBlocks kernel_blocks(Device const& device, KernelOptions const& options,
                           ChannelMemory const& memory) {
    // From so many blocks on their replies wait for each other's quads on the bus
    // (docs/dev/design.md).
    constexpr unsigned many = 5;
    auto const silence = host_silence_limit(options, device.traits());
    BlockLimits const limits{static_cast<std::uint64_t>(options.lifetime.count()),
                             static_cast<std::uint64_t>(silence.count()),
                             {options.idle.polls, options.idle.longest_sleep_ns}};
    unsigned const blocks = blocks_of(options);
    return {memory.device_view(), limits, device.oversubscribed(blocks), blocks >= many};
}

}  // namespace carillon::detail
