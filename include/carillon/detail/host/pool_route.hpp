// SPDX-License-Identifier: Apache-2.0
// Requests that reach a free block through one ring.
#pragma once

#include <memory>
#include <utility>

#include "carillon/channel_memory.hpp"
#include "carillon/client.hpp"
#include "carillon/detail/host/client_pool.hpp"
#include "carillon/detail/host/kernel_supervisor.hpp"
#include "carillon/detail/host/pool_state.hpp"
#include "carillon/detail/host/route.hpp"
#include "carillon/detail/kernel/block_state.hpp"
#include "carillon/detail/kernel/handler.hpp"
#include "carillon/detail/kernel/handler_messages.hpp"
#include "carillon/detail/kernel/pool_body.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/reply_slots.hpp"
#include "carillon/device.hpp"
#include "carillon/kernel_options.hpp"
#include "carillon/launch.hpp"
#include "carillon/wait.hpp"

namespace carillon::detail {
inline namespace CARILLON_TOOLCHAIN {

// Its clients may outlive the kernel: they share what they need with it.
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

    // Requests of clients that died are given up: the dead send no more.
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
