// SPDX-License-Identifier: Apache-2.0
// The ways of requests from this process to a kernel's blocks: channels of each block, or a pool's
// ring.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "carillon/client.hpp"
#include "carillon/detail/host/client_pool.hpp"
#include "carillon/detail/host/kernel_supervisor.hpp"
#include "carillon/detail/host/pool_state.hpp"
#include "carillon/detail/kernel/channel_bodies.hpp"
#include "carillon/detail/kernel/handler_messages.hpp"
#include "carillon/detail/kernel/pool_body.hpp"
#include "carillon/detail/kernel/watch.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/reply_slots.hpp"
#include "carillon/error.hpp"
#include "carillon/placement.hpp"

namespace carillon::detail {

// Memory for a kernel's channels, the caller's or new, arranged by the placement;
// `placement.blocks` is empty if the blocks may be anywhere.
struct PlacedMemory {
    std::shared_ptr<ChannelMemory> memory;
    ChannelPlacement placement;
};

// `shape`: of the kernel's channels. `threads`: of its handler. No other kernel gets the caller's
// memory while the result exists. Both throw UsageError.
[[nodiscard]] PlacedMemory place_kernel(Device const& device, KernelOptions const& options,
                                        ChannelShape const& shape, unsigned threads,
                                        LaunchProbe launch);
[[nodiscard]] std::shared_ptr<ChannelMemory> watched_memory(Device const& device,
                                                            KernelOptions const& options,
                                                            ChannelShape const& shape);

// Throws UsageError.
[[noreturn]] void throw_no_channel(unsigned index, std::size_t channels);

// The clients of a kernel's channels. Each client stays in place, and the list moves without an
// allocation, unlike a std::deque.
template <class Client>
class ClientList {
   public:
    template <class... End>
    void add(End&&... end) {
        clients_.push_back(std::make_unique<Client>(std::forward<End>(end)...));
    }
    [[nodiscard]] std::size_t size() const { return clients_.size(); }
    [[nodiscard]] Client& at(unsigned index) const {
        if (index >= clients_.size()) throw_no_channel(index, clients_.size());
        return *clients_[index];
    }
    // Whether `count` clients, from `first` on, have all requests answered.
    [[nodiscard]] bool all_answered(std::size_t first, std::size_t count) const {
        return std::ranges::all_of(std::span(clients_).subspan(first, count),
                                   [](auto const& client) { return client->all_answered(); });
    }
    [[nodiscard]] bool all_answered() const { return all_answered(0, size()); }

   private:
    std::vector<std::unique_ptr<Client>> clients_;
};

// How the kernel's clients wait. Call it before memory is allocated: it throws UnsupportedError.
[[nodiscard]] inline HostWait wait_of_clients(Device const& device, KernelOptions const& options) {
    return HostWait::for_kernel(device.traits(), blocks_of(options), options.wait);
}

inline namespace CARILLON_TOOLCHAIN {

// Each way has one: Requests is Channels, WatchedChannels or Pool. It has the memory and the host's
// ends of a kernel with `Handler`, and knows the body that the blocks run.
template <class Handler, class Requests>
class Route;

template <class Handler>
class Route<Handler, Channels> {
   public:
    using Client = ClientOf<Handler>;

    Route(Device const& device, KernelOptions const& options)
        : wait_(wait_of_clients(device, options)),
          express_wanted_(options.channels.express),
          placed_(place_kernel(device, options, shape(options), block_threads,
                               &launch_probe<ProbeBody>)) {}

    // The memory whose first channels have the blocks' control and status lines.
    [[nodiscard]] std::shared_ptr<ChannelMemory> const& blocks() const { return placed_.memory; }
    [[nodiscard]] static unsigned channels_per_block() { return 1; }
    [[nodiscard]] static bool lanes_apart() { return false; }

    [[nodiscard]] RunningKernel start(Device const& device, KernelOptions const& options,
                                      Handlers<FunctorOf<Handler>> const& handlers) const {
        KernelBlocks const blocks = kernel_blocks(device, options, *placed_.memory);
        constexpr unsigned threads = threads_of<Handler>();
        if constexpr (threads == 1) {
            if (!express_wanted_) {
                ServeBody<FunctorOf<Handler>, Request, Reply> const body{blocks, handlers};
                if constexpr (block_threads != 1) {
                    return start_kernel(device, launch_shape(options, block_threads), body);
                } else {
                    return start_pinned(device, pins(device, blocks_of(options)), body,
                                        options.start_timeout);
                }
            }
        }
        using Body = ServeTogetherBody<FunctorOf<Handler>, Request, Reply>;
        return start_kernel(device, launch_shape(options, threads),
                            Body{blocks, handlers, express_wanted_ ? blocks_of(options) : 0});
    }

    // Makes the clients of a running kernel.
    void connect(Device const& device, KernelOptions const& options,
                 std::shared_ptr<KernelSupervisor> const& kernel) {
        for (unsigned i = 0; i < blocks_of(options); ++i) {
            channels_.add(device, placed_.memory, i, wait_, kernel);
            if (express_wanted_)
                express_.add(device, placed_.memory, blocks_of(options) + i, wait_, kernel);
        }
    }

    [[nodiscard]] ClientList<Client> const& channels() const { return channels_; }
    [[nodiscard]] Client& express(unsigned block) const { return express_.at(block); }
    [[nodiscard]] ChannelPlacement const& placement() const { return placed_.placement; }

    [[nodiscard]] bool all_answered() const {
        return channels_.all_answered() && express_.all_answered();
    }
    // Whether a block has requests that it has not answered.
    [[nodiscard]] bool outstanding(unsigned block) const {
        if (!channels_.all_answered(block, 1)) return true;
        return express_wanted_ && !express_.all_answered(block, 1);
    }

   private:
    using Request = typename Client::Request;
    using Reply = typename Client::Reply;
    static constexpr unsigned block_threads = serving_threads<FunctorOf<Handler>, Request, Reply>();

    [[nodiscard]] static ChannelShape shape(KernelOptions const& options) {
        return ChannelShape::of<Request, Reply>(options.capacity);
    }

    [[nodiscard]] Pins pins(Device const& device, unsigned blocks) const {
        if (placed_.placement.blocks.empty()) return Pins(blocks);
        return {device, placed_.placement.sms()};
    }

    HostWait wait_;
    bool express_wanted_;
    PlacedMemory placed_;
    ClientList<Client> channels_;
    ClientList<Client> express_;  // one per block, or none
};

template <class Handler>
class Route<Handler, WatchedChannels> {
    static_assert(threads_of<Handler>() == 1,
                  "carillon: a block that watches several channels needs a handler of one thread");
    static_assert(!HasShared<Handler>,
                  "carillon: a block that watches several channels needs a handler without Shared: "
                  "its lanes serve separately");

   public:
    using Client = ClientOf<Handler>;

    Route(Device const& device, KernelOptions const& options)
        : wait_(wait_of_clients(device, options)),
          per_block_(options.watched.per_block),
          memory_(watched_memory(device, options, shape(options))) {}

    [[nodiscard]] std::shared_ptr<ChannelMemory> const& blocks() const { return memory_; }
    [[nodiscard]] unsigned channels_per_block() const { return per_block_; }
    // Whether each lane of a block has its own handler.
    [[nodiscard]] static bool lanes_apart() { return true; }

    [[nodiscard]] RunningKernel start(Device const& device, KernelOptions const& options,
                                      Handlers<FunctorOf<Handler>> const& handlers) const {
        using Body =
            WatchBody<FunctorOf<Handler>, typename Client::Request, typename Client::Reply>;
        return start_kernel(device, launch_shape(options, lanes_per_warp),
                            Body{kernel_blocks(device, options, *memory_), handlers, per_block_});
    }

    void connect(Device const& device, KernelOptions const& options,
                 std::shared_ptr<KernelSupervisor> const& kernel) {
        for (unsigned i = 0; i < blocks_of(options) * per_block_; ++i) {
            unsigned const block = i / per_block_;
            std::uint64_t* const doorbells =
                memory_->host_view().doorbells(block, kernel->doorbell_page(block));
            channels_.add(device, memory_, i, wait_, kernel, doorbells + i % per_block_);
        }
    }

    [[nodiscard]] ClientList<Client> const& channels() const { return channels_; }
    [[nodiscard]] bool all_answered() const { return channels_.all_answered(); }
    [[nodiscard]] bool outstanding(unsigned block) const {
        return !channels_.all_answered(std::size_t{block} * per_block_, per_block_);
    }

   private:
    [[nodiscard]] static ChannelShape shape(KernelOptions const& options) {
        return ChannelShape::of<typename Client::Request, typename Client::Reply>(options.capacity);
    }

    HostWait wait_;
    unsigned per_block_;
    std::shared_ptr<ChannelMemory> memory_;
    ClientList<Client> channels_;
};

// The route of a Pool. Its clients may outlive the kernel, so they share its state.
template <class Handler>
class Route<Handler, Pool> {
    using Messages = MessagesOf<Handler>;
    using Request = typename Messages::Request;
    using Reply = typename Messages::Reply;

   public:
    using Client = ClientOf<Handler, Pool>;

    Route(Device const& device, KernelOptions const& options)
        : state_(std::make_shared<PoolState>(device, options, threads_of<Handler>(),
                                             shape_of<AddressedRequest<Request>>(),
                                             shape_of<Reply>())) {}

    [[nodiscard]] std::shared_ptr<ChannelMemory> const& blocks() const { return state_->blocks(); }
    [[nodiscard]] static unsigned channels_per_block() { return 1; }
    [[nodiscard]] bool lanes_apart() const { return state_->warps(); }

    [[nodiscard]] RunningKernel start(Device const& device, KernelOptions const& options,
                                      Handlers<FunctorOf<Handler>> const& handlers) const {
        using Body = PoolBody<FunctorOf<Handler>, Request, Reply>;
        MpmcRingView const ring = state_->ring()->memory.device_view();
        unsigned const threads = state_->warps() ? lanes_per_warp : threads_of<Handler>();
        return start_kernel(device, launch_shape(options, threads),
                            Body{kernel_blocks(device, options, *blocks()), ring,
                                 state_->device_reply_slots(), handlers, state_->warps()});
    }

    void connect(Device const& /*device*/, KernelOptions const& /*options*/,
                 std::shared_ptr<KernelSupervisor> kernel) {
        state_->own(std::move(kernel));
    }

    [[nodiscard]] Client client() const { return Client(state_); }

    // Requests of dead clients are given up: the dead send no more.
    [[nodiscard]] bool all_answered() const {
        if (state_->all_answered()) return true;
        state_->recover();
        return false;
    }
    // An outstanding request counts for every block.
    [[nodiscard]] bool outstanding(unsigned /*block*/) const { return !state_->all_answered(); }

   private:
    std::shared_ptr<PoolState> state_;
};

}  // namespace CARILLON_TOOLCHAIN
}  // namespace carillon::detail
