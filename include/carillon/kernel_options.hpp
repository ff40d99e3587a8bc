// SPDX-License-Identifier: Apache-2.0
// How requests reach the blocks of a PersistentKernel, and the options of one.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "carillon/error.hpp"
#include "carillon/kernel_state.hpp"
#include "carillon/wait.hpp"

namespace carillon {

class ChannelMemory;      // channel_memory.hpp
struct PlacementProfile;  // placement.hpp

// How a block spends the time in which nothing comes: it polls, and after so many polls in a row it
// sleeps between two, twice as long each time, up to a limit. What waking then costs, and what
// power it saves, `carillon-bench idle` measures.
struct IdlePolicy {
    std::uint32_t polls = 0;             // before the first sleep
    std::uint32_t longest_sleep_ns = 0;  // at most 1 ms; 0: it never sleeps

    static constexpr IdlePolicy spin() { return {}; }               // polls for ever
    static constexpr IdlePolicy backoff() { return {64, 1'000}; }   // up to 1 us
    static constexpr IdlePolicy park() { return {4096, 200'000}; }  // up to 0.2 ms
    bool operator==(IdlePolicy const&) const = default;
};

// Whether a kernel is put where round trips are short.
enum class Placement : std::uint8_t {
    automatic,  // by the device's profile, if `carillon tune` has made one; otherwise anywhere
    off,        // anywhere
    tuned,      // by the profile, or without one by a short measurement; it throws if that fails
};

// A channel for each block, which one thread of the block polls: the shortest round trip.
struct Channels {
    // Every block has a second channel, whose requests it serves before those of its first.
    bool express = false;
    // Where the blocks and, of rings up to a page (64 slots of a line), the channels are put: what
    // the device shows to be fast. The start takes longer then. Not with express channels, nor with
    // a handler of several threads.
    Placement placement = Placement::automatic;
    // What is known of the device, instead of the profile that is kept for it.
    std::shared_ptr<PlacementProfile const> profile = nullptr;
    bool operator==(Channels const&) const = default;
};

// Many channels for each block: one warp watches them all by their doorbells, with a handler of one
// thread. A round trip is one more look at memory longer, and where several have requests each
// waits for at most one of every other in turn (serve_watch).
struct WatchedChannels {
    unsigned per_block = 64;  // 2 to 64
    bool operator==(WatchedChannels const&) const = default;
};

// One ring for all blocks: whichever is free takes the next request. Any number of host threads
// ask, each through a client of its own, and replies come in any order.
struct Pool {
    unsigned clients = 64;       // host threads that ask at the same time, at most
    std::uint32_t replies = 64;  // outstanding of a client, at most
    // How many requests a block takes at a time, a power of two. 1 spreads them best. With 32 to
    // 128, and a handler of one thread, the lanes of a warp each serve some: the highest rates, but
    // a request may wait for those that were taken with it.
    std::uint32_t stripe = 1;
    bool operator==(Pool const&) const = default;
};

// A channel for each block, as Channels, for a client of another process: Server lets it in. Each
// client's channel lies in memory of its own, which no other client has. When a client goes, its
// block finishes the request that it is at and serves the next client; the handler's state stays
// with the block.
struct SharedChannels {};

// All blocks for all clients of other processes, as a Pool: whichever is free takes the next
// request, of whichever client, each of which has its turn. A client's end is a channel as any, in
// memory of its own, which no other client has; its replies may come in any order.
struct SharedPool {
    unsigned clients = 16;  // that have a channel at the same time, at most; up to 64
    bool operator==(SharedPool const&) const = default;
};

struct KernelOptions {
    // How many blocks serve. None: 1, and of a pool what suits the device: one for each processor
    // that the emulated device may use but the caller's, two at most; on a GPU one for each SM, 32
    // at most. Each has an SM to itself for as long as the kernel runs, or shares one. Of channels
    // as many as there are threads that ask at once. Of a pool so many that one is free when a
    // request comes: a block takes one request at a time, so threads that wait for each reply need
    // no more blocks than they are; for R requests a second that take S seconds each, R * S and a
    // few more. What is more is looked at in vain, by all of them, whenever a request comes.
    std::optional<unsigned> blocks = std::nullopt;
    // Slots of a channel, each way, or of the ring that a pool has; a power of two up to 2^20.
    std::uint32_t capacity = 256;
    std::chrono::nanoseconds start_timeout = std::chrono::seconds(10);
    // How long the destructor waits for the kernel to end; it may take a second more where the
    // driver holds the thread that watches the kernel. A line on stderr tells of a kernel that has
    // not ended by then, unless this is less than a millisecond.
    std::chrono::nanoseconds stop_timeout = std::chrono::seconds(5);
    // The kernel ends by itself after so long; 0 for never.
    std::chrono::nanoseconds lifetime{0};
    // The kernel ends by itself when this process has not shown for so long that it is there, as it
    // does ten times within it: the process is gone, stopped, or in a debugger. 10 ms or more, 0
    // for never; none: a second on a GPU, never on the emulated device, whose threads go with the
    // process.
    std::optional<std::chrono::nanoseconds> host_limit = std::nullopt;
    // A block that is at one request for longer is `stuck`.
    std::chrono::nanoseconds stuck_after = std::chrono::seconds(1);
    // What its blocks do while nothing comes. A block that sleeps looks for a stop at every poll.
    IdlePolicy idle = IdlePolicy::spin();
    // How its clients wait; none: HostWait::for_kernel chooses.
    std::optional<HostWait::Style> wait = std::nullopt;
    // The caller's memory for Channels or WatchedChannels: as many of its channels as the blocks
    // have. `capacity` and `channels.placement` are not looked at then. The rings in it are made
    // empty first. It is this kernel's until that has been destroyed, with its clients: then
    // another may have it. None: the kernel allocates it.
    std::shared_ptr<ChannelMemory> memory = nullptr;
    // What each way of requests can be told. A kernel of another way refuses all but the defaults.
    Channels channels{};
    WatchedChannels watched{};
    Pool pool{};
    SharedPool shared_pool{};
};

namespace detail {
struct BytesRequests;  // those of a BytesKernel
}  // namespace detail

// What `Requests` of a kernel is.
template <class T>
concept WayOfRequests = std::same_as<T, Channels> || std::same_as<T, WatchedChannels> ||
    std::same_as<T, Pool> || std::same_as<T, SharedChannels> || std::same_as<T, SharedPool> ||
    std::same_as<T, detail::BytesRequests>;

}  // namespace carillon
