// SPDX-License-Identifier: Apache-2.0
// Requests that reach blocks from other processes.
#pragma once

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

// The common part of both ways. A Server may outlive the kernel: it shares what it needs with it.
template <class Handler>
class LeasedRoute {
   public:
    using Client = ClientOf<Handler>;

    [[nodiscard]] std::shared_ptr<ChannelMemory> const& blocks() const { return leases_->blocks(); }
    [[nodiscard]] static unsigned channels_per_block() { return 1; }
    [[nodiscard]] static bool lanes_apart() { return false; }
    void connect(Device const& /*device*/, KernelOptions const& /*options*/,
                 std::shared_ptr<KernelSupervisor> kernel) {
        leases_->own(std::move(kernel));
    }

    [[nodiscard]] std::shared_ptr<Lender> const& leases() const { return leases_; }
    [[nodiscard]] bool all_answered() const { return leases_->all_drained(); }
    [[nodiscard]] bool outstanding(unsigned block) const { return leases_->outstanding_at(block); }

   protected:
    using Request = typename MessagesOf<Handler>::Request;
    using Reply = typename MessagesOf<Handler>::Reply;

    explicit LeasedRoute(std::shared_ptr<Lender> leases) : leases_(std::move(leases)) {}

    [[nodiscard]] static ChannelShape shape(KernelOptions const& options) {
        return ChannelShape::of<Request, Reply>(options.capacity);
    }
    [[nodiscard]] static MessageTypes types() { return MessageTypes::of<MessagesOf<Handler>>(); }

   private:
    std::shared_ptr<Lender> leases_;
};

template <class Handler>
class Route<Handler, SharedChannels> : public LeasedRoute<Handler> {
    using Base = LeasedRoute<Handler>;
    using Request = typename Base::Request;
    using Reply = typename Base::Reply;

   public:
    Route(Device const& device, KernelOptions const& options)
        : Base(std::make_shared<Lender>(device, options, Base::shape(options), Base::types())) {}

    [[nodiscard]] RunningKernel start(Device const& device, KernelOptions const& options,
                                      Handlers<FunctorOf<Handler>> const& handlers) const {
        using Body = LeaseBody<FunctorOf<Handler>, Request, Reply>;
        constexpr unsigned threads = serving_threads<FunctorOf<Handler>, Request, Reply>();
        return start_kernel(device, launch_shape(options, threads),
                            Body{kernel_blocks(device, options, *this->blocks()),
                                 this->leases()->device_view(), handlers});
    }
};

// Whether a handler's Shared fits into a block's shared memory beside what the library's threads
// keep there of all clients.
template <class Handler>
inline constexpr bool fits_beside_clients = true;
template <HasShared Handler>
inline constexpr bool fits_beside_clients<Handler> =
    sizeof(typename Handler::Shared) <= std::size_t{40} * 1024;

template <class Handler>
class Route<Handler, SharedPool> : public LeasedRoute<Handler> {
    static_assert(fits_beside_clients<Handler>,
                  "carillon: a handler's Shared must be at most 40 KiB in a SharedPool: it is in "
                  "shared memory beside what the block knows of all clients");
    using Base = LeasedRoute<Handler>;
    using Request = typename Base::Request;
    using Reply = typename Base::Reply;

   public:
    Route(Device const& device, KernelOptions const& options)
        : Base(std::make_shared<Lender>(device, options, Base::shape(options), Base::types(),
                                        ServedBy::any_block)) {}

    [[nodiscard]] RunningKernel start(Device const& device, KernelOptions const& options,
                                      Handlers<FunctorOf<Handler>> const& handlers) const {
        using Body = SharedPoolBody<FunctorOf<Handler>, Request, Reply>;
        Lender const& leases = *this->leases();
        return start_kernel(device, launch_shape(options, threads_of<Handler>()),
                            Body{kernel_blocks(device, options, *this->blocks()),
                                 leases.device_view(), leases.places(), handlers});
    }
};

}  // namespace CARILLON_TOOLCHAIN
}  // namespace carillon::detail
