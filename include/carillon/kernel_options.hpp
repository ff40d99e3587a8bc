// SPDX-License-Identifier: Apache-2.0
// How requests reach the blocks of a PersistentKernel, and the options of one.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>

#include "carillon/error.hpp"
#include "carillon/kernel_state.hpp"  // IWYU pragma: export
#include "carillon/wait.hpp"          // IWYU pragma: export

namespace carillon {

class ChannelMemory;      // channel_memory.hpp
struct PlacementProfile;  // placement.hpp

// How a block spends the time in which nothing comes: it polls, and after so many polls in a row it
// sleeps between two, twice as long each time, up to a limit. `carillon-bench idle` measures what
// waking costs, and how much power sleep saves.
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
    // Puts the blocks, and channels with rings of up to a page (64 slots of a line), in the places
    // that the device shows to be fast. The start takes longer then. Unsupported with express
    // channels and with a handler of several threads.
    Placement placement = Placement::automatic;
    // Facts about the device, in place of the profile that is kept for it.
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

// One ring for all blocks: a free block takes the next request. Any number of host threads ask,
// each through its own client, and replies come in any order.
struct Pool {
    unsigned clients = 64;       // host threads that ask at the same time, at most
    std::uint32_t replies = 64;  // outstanding replies of a client, at most
    // How many requests a block takes at a time, a power of two. 1 spreads them best. With 32 to
    // 128, and a handler of one thread, the lanes of a warp each serve some: the highest rates, but
    // a request may wait for those that were taken with it.
    std::uint32_t stripe = 1;
    bool operator==(Pool const&) const = default;
};

// A channel for each block, like Channels, for a client of another process, which a Server lets in.
// Each client's channel lies in its own memory, which no other client has. When a client goes, its
// block finishes the current request and serves the next client; the handler's state stays with the
// block.
struct SharedChannels {};

// All blocks serve all clients of other processes, like a Pool: a free block takes the next request
// of any client, and each client has its turn. A client's end is an ordinary channel in its own
// memory, which no other client has; its replies may come in any order.
struct SharedPool {
    unsigned clients = 16;  // clients that have a channel at the same time, at most; up to 64
    bool operator==(SharedPool const&) const = default;
};

struct KernelOptions {
    // How many blocks serve. None: 1, and for a pool what suits the device: one for each processor
    // that the emulated device may use but the caller's, two at most; on a GPU one for each SM, 32
    // at most. Each has an SM to itself for as long as the kernel runs, or shares one. Use as many
    // blocks of channels as threads ask at once. Use so many blocks of a pool that one is free when
    // a request comes: a block takes one request at a time, so threads that wait for each reply
    // need no more blocks than there are threads; R requests a second of S seconds each need R * S
    // and a few more. Any further blocks look in vain whenever a request comes.
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
    // The kernel ends by itself if this process gives no sign of life for so long; it gives ten
    // within that time, unless it is gone, stopped, or in a debugger. 10 ms or more, 0: never;
    // none: a second on a GPU, and never on the emulated device, whose threads go with the process.
    std::optional<std::chrono::nanoseconds> host_limit = std::nullopt;
    // A block that is at one request for longer is `stuck`.
    std::chrono::nanoseconds stuck_after = std::chrono::seconds(1);
    // How its blocks wait for requests. A block that sleeps looks for a stop at every poll.
    IdlePolicy idle = IdlePolicy::spin();
    // How its clients wait; none: HostWait::for_kernel chooses.
    std::optional<HostWait::Style> wait = std::nullopt;
    // The caller's memory for Channels or WatchedChannels, with as many channels as the blocks
    // have. The kernel ignores `capacity` and `channels.placement` then, and empties the rings in
    // the memory first. No other kernel gets the memory until this one and its clients are
    // destroyed. None: the kernel allocates it.
    std::shared_ptr<ChannelMemory> memory = nullptr;
    // Options of each way of requests. A kernel of another way refuses all but the defaults.
    Channels channels{};
    WatchedChannels watched{};
    Pool pool{};
    SharedPool shared_pool{};
};

namespace detail {
struct BytesRequests;  // those of a BytesKernel
}  // namespace detail

// The types that `Requests` of a kernel can be.
template <class T>
concept WayOfRequests = std::same_as<T, Channels> || std::same_as<T, WatchedChannels> ||
    std::same_as<T, Pool> || std::same_as<T, SharedChannels> || std::same_as<T, SharedPool> ||
    std::same_as<T, detail::BytesRequests>;

}  // namespace carillon
