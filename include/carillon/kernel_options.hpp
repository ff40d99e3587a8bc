// SPDX-License-Identifier: Apache-2.0
// `KernelOptions`, and the ways in which requests reach the blocks of a `PersistentKernel`.
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

// How a block waits for requests. It polls; after `polls` polls in a row it sleeps between polls,
// twice as long each time, up to a limit. `carillon-bench idle` measures the cost of waking and the
// saved power.
struct IdlePolicy {
    std::uint32_t polls = 0;             // before the first sleep
    std::uint32_t longest_sleep_ns = 0;  // at most 1 ms; 0: never sleep

    static constexpr IdlePolicy spin() { return {}; }               // polls forever
    static constexpr IdlePolicy backoff() { return {64, 1'000}; }   // up to 1 us
    static constexpr IdlePolicy park() { return {4096, 200'000}; }  // up to 0.2 ms
    bool operator==(IdlePolicy const&) const = default;
};

// Whether a kernel's blocks and channels are placed where round trips are short.
enum class Placement : std::uint8_t {
    automatic,  // by the profile that `carillon tune` made for the device; without one anywhere
    off,        // anywhere
    tuned,      // by the profile, or without one by a short measurement; throws if that fails
};

// Requests: one channel per block, which one thread polls. It has the shortest round trip.
struct Channels {
    // Give every block a second channel, whose requests it serves first.
    bool express = false;
    // Place blocks, and channels with rings of up to a page (64 slots of a line), where
    // measurements show the device to be fast. The start then takes longer. Unsupported with
    // express channels and with a handler of several threads.
    Placement placement = Placement::automatic;
    // A profile to use in place of the stored one.
    std::shared_ptr<PlacementProfile const> profile = nullptr;
    bool operator==(Channels const&) const = default;
};

// Requests: many channels per block, whose doorbells one warp watches. The handler has one thread.
// A round trip takes one more look at memory. If several channels have requests, a request waits
// for at most one request of each other channel (serve_watch).
struct WatchedChannels {
    unsigned per_block = 64;  // 2 to 64
    bool operator==(WatchedChannels const&) const = default;
};

// Requests: one ring for all blocks, of which a free block takes the next request. Each of many
// host threads has its own client, and replies come in any order.
struct Pool {
    unsigned clients = 64;       // most host threads with a client at the same time
    std::uint32_t replies = 64;  // most outstanding replies of a client
    // How many requests a block takes at a time, a power of two. 1 spreads them best. 32 to 128
    // give the highest rates: with a handler of one thread, the lanes of a warp each serve some. A
    // request may then wait for those taken with it.
    std::uint32_t stripe = 1;
    bool operator==(Pool const&) const = default;
};

// Requests from other processes: one channel per block, like Channels, for one client at a time,
// which connects through a `Server`. Each client's channel lies in memory that no other client has.
// When a client leaves, its block finishes the current request and serves the next client; the
// handler's state stays with the block.
struct SharedChannels {};

// Requests from other processes: all blocks serve all clients, like a Pool. A free block takes the
// next request of any client, and each client gets its turn. A client's end is an ordinary channel
// in memory that no other client has; its replies may come in any order.
struct SharedPool {
    unsigned clients = 16;  // most clients at the same time; up to 64
    bool operator==(SharedPool const&) const = default;
};

// The options of a PersistentKernel.
struct KernelOptions {
    // The number of blocks that serve. The default is 1; for a pool it is one per SM of a GPU, at
    // most 32, and one per processor of the emulated device except the caller's, at most 2. Each
    // block occupies an SM, or a part of one, while the kernel runs. With channels, use as many
    // blocks as threads call at once. With a pool, use so many that one is free when a request
    // comes. A block takes one request at a time: threads that wait for each reply need at most one
    // block each, and R requests per second of S seconds each need R * S and a few more. Further
    // blocks poll in vain.
    std::optional<unsigned> blocks = std::nullopt;
    // Slots of a channel each way, or of a pool's ring; a power of two from 2 to 2^20.
    std::uint32_t capacity = 256;
    std::chrono::nanoseconds start_timeout = std::chrono::seconds(10);
    // How long the destructor waits for the kernel to end; it may take a second longer if the
    // driver blocks the thread that watches the kernel. If the kernel has not ended, a line on
    // stderr says so, unless this is below a millisecond.
    std::chrono::nanoseconds stop_timeout = std::chrono::seconds(5);
    // The kernel ends itself after this time; 0: never.
    std::chrono::nanoseconds lifetime{0};
    // The kernel ends itself after this time without a heartbeat of its process, which sends ten
    // within that time unless it has ended, was stopped, or is in a debugger. 10 ms or more; 0:
    // never. By default a second on a GPU, and never on the emulated device, whose threads end with
    // the process.
    std::optional<std::chrono::nanoseconds> host_limit = std::nullopt;
    // A block that serves one request for longer counts as `stuck`.
    std::chrono::nanoseconds stuck_after = std::chrono::seconds(1);
    // How blocks wait for requests. A block that sleeps checks for a stop at every poll.
    IdlePolicy idle = IdlePolicy::spin();
    // How clients wait; by default HostWait::for_kernel chooses.
    std::optional<HostWait::Style> wait = std::nullopt;
    // The caller's memory for Channels or WatchedChannels, with as many channels as the blocks
    // have. The kernel then ignores `capacity` and `channels.placement`, and empties the rings
    // first. No other kernel can use the memory until this kernel and its clients are destroyed. By
    // default the kernel allocates memory.
    std::shared_ptr<ChannelMemory> memory = nullptr;
    // Options for each way of requests. A kernel accepts only defaults in those of other ways.
    Channels channels{};
    WatchedChannels watched{};
    Pool pool{};
    SharedPool shared_pool{};
};

namespace detail {
struct BytesRequests;  // the requests of a BytesKernel
}  // namespace detail

// The types that a kernel's `Requests` can be.
template <class T>
concept WayOfRequests = std::same_as<T, Channels> || std::same_as<T, WatchedChannels> ||
    std::same_as<T, Pool> || std::same_as<T, SharedChannels> || std::same_as<T, SharedPool> ||
    std::same_as<T, detail::BytesRequests>;

}  // namespace carillon
