// SPDX-License-Identifier: Apache-2.0
// The way of requests from other processes to a kernel's blocks, for SharedChannels and SharedPool.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <utility>

#include "carillon/channel_memory.hpp"
#include "carillon/detail/host/kernel_supervisor.hpp"
#include "carillon/detail/host/message_types.hpp"
#include "carillon/detail/host/routes.hpp"
#include "carillon/detail/kernel/block_state.hpp"
#include "carillon/detail/kernel/channel_bodies.hpp"
#include "carillon/detail/kernel/handler_messages.hpp"
#include "carillon/detail/kernel/lease_body.hpp"
#include "carillon/detail/kernel/pool_body.hpp"
#include "carillon/detail/serving/lender.hpp"
#include "carillon/device.hpp"
#include "carillon/kernel_options.hpp"
#include "carillon/launch.hpp"

namespace carillon::detail {
inline namespace CARILLON_TOOLCHAIN {

// Whether a handler's Shared fits into a block's shared memory beside the data of all clients that
// the library's threads keep there.
template <class Handler>
inline constexpr bool fits_beside_clients = true;
template <HasShared Handler>
inline constexpr bool fits_beside_clients<Handler> =
    sizeof(typename Handler::Shared) <= std::size_t{40} * 1024;

// The route of SharedChannels and SharedPool. A Server may outlive the kernel: it shares its state.
template <class Handler, class Requests>
requires(std::same_as<Requests, SharedChannels> ||
         std::same_as<Requests, SharedPool>) class Route<Handler, Requests> {
    static constexpr bool by_pool = std::same_as<Requests, SharedPool>;
    static_assert(!by_pool || fits_beside_clients<Handler>,
                  "carillon: a handler's Shared must be at most 40 KiB in a SharedPool: the "
                  "block's table of clients takes the rest of shared memory");
    using Request = typename MessagesOf<Handler>::Request;
    using Reply = typename MessagesOf<Handler>::Reply;

   public:
    using Client = ClientOf<Handler>;

    Route(Device const& device, KernelOptions const& options)
        : leases_(std::make_shared<Lender>(device, options,
                                           ChannelShape::of<Request, Reply>(options.capacity),
                                           MessageTypes::of<MessagesOf<Handler>>(),
                                           by_pool ? ServedBy::any_block : ServedBy::one_block)) {}

    [[nodiscard]] std::shared_ptr<ChannelMemory> const& blocks() const { return leases_->blocks(); }
    [[nodiscard]] static unsigned channels_per_block() { return 1; }
    [[nodiscard]] static bool lanes_apart() { return false; }
    void connect(Device const& /*device*/, KernelOptions const& /*options*/,
                 std::shared_ptr<KernelSupervisor> kernel) {
        leases_->own(std::move(kernel));
    }
    [[nodiscard]] RunningKernel start(Device const& device, KernelOptions const& options,
                                      Handlers<FunctorOf<Handler>> const& handlers) const {
        auto const blocks = kernel_blocks(device, options, *this->blocks());
        if constexpr (by_pool) {
            using Body = SharedPoolBody<FunctorOf<Handler>, Request, Reply>;
            return start_kernel(device, launch_shape(options, threads_of<Handler>()),
                                Body{blocks, leases_->device_view(), leases_->places(), handlers});
        } else {
            using Body = LeaseBody<FunctorOf<Handler>, Request, Reply>;
            constexpr unsigned threads = serving_threads<FunctorOf<Handler>, Request, Reply>();
            return start_kernel(device, launch_shape(options, threads),
                                Body{blocks, leases_->device_view(), handlers});
        }
    }

    [[nodiscard]] std::shared_ptr<Lender> const& leases() const { return leases_; }
    [[nodiscard]] bool all_answered() const { return leases_->all_drained(); }
    [[nodiscard]] bool outstanding(unsigned block) const { return leases_->outstanding_at(block); }

   private:
    std::shared_ptr<Lender> leases_;
};

}  // namespace CARILLON_TOOLCHAIN
}  // namespace carillon::detail
