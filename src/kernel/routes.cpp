// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/routes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "carillon/detail/host/argument_checks.hpp"
#include "carillon/detail/host/kernel_supervisor.hpp"
#include "carillon/error.hpp"

namespace carillon::detail {
namespace {

unsigned channels_of_blocks(KernelOptions const& options, unsigned each) {
    if (blocks_of(options) > std::numeric_limits<unsigned>::max() / 2 / each) {
        throw UsageError(fmt::format("{} blocks are too many", blocks_of(options)));
    }
    return blocks_of(options) * each;
}

// The caller's memory for so many channels, or memory of the kernel's own.
std::shared_ptr<ChannelMemory> memory_for(Device const& device, KernelOptions const& options,
                                          unsigned channels, ChannelShape const& shape) {
    if (options.memory == nullptr) {
        check_capacity(options.capacity);
        return std::make_shared<ChannelMemory>(device, channels, shape);
    }
    auto checked = checked_memory(device, options.memory, 0, shape, false);
    if (channels > checked->channels()) {
        throw UsageError(fmt::format("the kernel needs {} channels, but the memory has {}",
                                     channels, checked->channels()));
    }
    return ChannelMemory::taken_by_kernel(std::move(checked));
}

constexpr std::size_t page = 4096;
constexpr unsigned fewest_candidates = 32;  // several times the pages of every kind
constexpr TuneOptions short_tune{.seconds = 1, .rounds = 6, .cores = false};

std::optional<PlacementProfile> profile_for(Device const& device, Channels const& requests,
                                            LaunchProbe launch, std::string& why_not) {
    if (requests.profile != nullptr) return *requests.profile;
    auto found = find_placement_profile(device.info(), why_not);
    if (!found && requests.placement == Placement::tuned) return tune(device, short_tune, launch);
    return found;
}

// Chooses only SMs: a ring of several pages has pages of every kind.
ChannelPlacement place_blocks(unsigned blocks, PlacementProfile const& profile) {
    ChannelPlacement placement;
    for (std::uint32_t i = 0; i < blocks; ++i) {
        std::uint32_t const sm = i < profile.sms.size() ? profile.sms[i].id : any_sm;
        placement.blocks.push_back({.sm = sm, .location = {i, i}});
    }
    placement.why_not = "a ring is larger than a page, so only its SM was chosen";
    return placement;
}

PlacedMemory place_by(PlacementProfile const& profile, Device const& device,
                      KernelOptions const& options, ChannelShape const& shape, LaunchProbe launch) {
    bool const fits = std::size_t{std::max(shape.request_lines, shape.reply_lines)} *
                          shape.capacity * sizeof(Line) <=
                      page;
    unsigned const candidates =
        fits ? std::max(fewest_candidates, 2 * blocks_of(options)) : blocks_of(options);
    auto memory = std::make_shared<ChannelMemory>(device, candidates, shape);
    if (!fits) return {std::move(memory), place_blocks(blocks_of(options), profile)};
    auto placement = place_channels(device, *memory, blocks_of(options), profile, launch);
    memory->arrange(placement.locations());
    return {std::move(memory), std::move(placement)};
}

// Why such a kernel is not placed, independent of the device's profile; empty if it can be.
std::string why_not(Device const& device, KernelOptions const& options, unsigned threads) {
    if (options.channels.express) {
        return "a block with an express channel (Channels::express) is not placed";
    }
    if (threads != 1) {
        return "a block of several threads, or a warp that serves long messages, is not placed";
    }
    if (device.info().memory_source == MemorySource::host) return "its rings are in host memory";
    auto const most = static_cast<unsigned>(device.info().sm_count.value_or(64));
    if (blocks_of(options) > most) {
        return fmt::format("{} blocks are more than the {} places", blocks_of(options), most);
    }
    return {};
}

}  // namespace

void throw_no_channel(unsigned index, std::size_t channels) {
    throw UsageError(
        channels == 0
            ? fmt::format("there is no channel {}: the kernel has no such channels", index)
            : fmt::format("there is no channel {}: the kernel has {} (from 0)", index, channels));
}

PlacedMemory place_kernel(Device const& device, KernelOptions const& options,
                          ChannelShape const& shape, unsigned threads, LaunchProbe launch) {
    check_options(options);
    Channels const& requests = options.channels;
    unsigned const channels = channels_of_blocks(options, 1) * (requests.express ? 2 : 1);
    auto const anywhere = [&](std::string why) {
        return PlacedMemory{memory_for(device, options, channels, shape), {{}, std::move(why)}};
    };
    if (options.memory != nullptr) return anywhere("the caller gave the memory");
    if (requests.placement == Placement::off) return anywhere("not requested");
    check_capacity(options.capacity);
    if (requests.profile != nullptr && requests.profile->uuid != device.info().uuid) {
        auto const shown = [](std::string const& uuid) {
            return uuid.empty() ? "the emulated device" : uuid;
        };
        throw UsageError(fmt::format("the profile is for {}, but this device is {}",
                                     shown(requests.profile->uuid), shown(device.info().uuid)));
    }
    bool const must = requests.placement == Placement::tuned;
    std::string why = why_not(device, options, threads);
    if (!why.empty()) {
        if (must) throw UsageError(why);
        return anywhere(std::move(why));
    }
    try {
        auto const profile = profile_for(device, requests, launch, why);
        if (profile) return place_by(*profile, device, options, shape, launch);
    } catch (Error const& error) {  // the kernel may start anyway, or give a clearer reason
        if (must) throw;
        why = error.what();
    }
    return anywhere(std::move(why));
}

std::shared_ptr<ChannelMemory> watched_memory(Device const& device, KernelOptions const& options,
                                              ChannelShape const& shape) {
    check_options(options);
    unsigned const each = options.watched.per_block;
    if (each < 2 || each > doorbells_per_block) {
        throw UsageError(fmt::format("{} channels per block requested: one warp watches 2 to {}",
                                     each, doorbells_per_block));
    }
    return memory_for(device, options, channels_of_blocks(options, each), shape);
}

}  // namespace carillon::detail
