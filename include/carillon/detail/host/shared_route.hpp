// SPDX-License-Identifier: Apache-2.0
// Requests that reach a block from another process.
#pragma once

#include <memory>
#include <utility>

#include "carillon/channel_memory.hpp"
#include "carillon/detail/host/channel_routes.hpp"
#include "carillon/detail/host/kernel_supervisor.hpp"
#include "carillon/detail/host/leases.hpp"
#include "carillon/detail/host/message_types.hpp"
#include "carillon/detail/host/route.hpp"
#include "carillon/detail/kernel/channel_bodies.hpp"
#include "carillon/detail/kernel/lease_body.hpp"
#include "carillon/detail/kernel/messages.hpp"
#include "carillon/device.hpp"
#include "carillon/kernel_options.hpp"
#include "carillon/launch.hpp"

namespace carillon::detail {
inline namespace CARILLON_TOOLCHAIN {

// A Server may outlive the kernel: it has what it needs in common with it.
template <class Handler>
class Route<Handler, SharedChannels> {
    using Messages = MessagesOf<Handler>;
    using Request = typename Messages::Request;
    using Reply = typename Messages::Reply;

   public:
    using Client = ChannelClient<Messages>;

    Route(Device const& device, SharedChannels const& /*requests*/, KernelOptions const& options)
        : leases_(std::make_shared<Leases>(device, options,
                                           ChannelShape::of<Request, Reply>(options.capacity),
                                           MessageTypes::of<Messages>())) {}

    // Moved, not assigned.
    Route(Route&&) noexcept = default;
    Route& operator=(Route&&) = delete;
    Route(Route const&) = delete;
    Route& operator=(Route const&) = delete;
    ~Route() {
        if (leases_ && leases_->kernel()) leases_->kernel()->end();
    }

    [[nodiscard]] std::shared_ptr<ChannelMemory> const& blocks() const { return leases_->blocks(); }
    [[nodiscard]] static unsigned channels_per_block() { return 1; }
    [[nodiscard]] static KernelOptions const& with_blocks(KernelOptions const& options) {
        return options;
    }

    [[nodiscard]] RunningKernel start(Device const& device, KernelOptions const& options,
                                      Handler const& handler) const {
        using Body = LeaseBody<FunctorOf<Handler>, Request, Reply>;
        constexpr unsigned threads = serving_threads<FunctorOf<Handler>, Request, Reply>();
        return launch(
            device, LaunchShape{blocks_of(options), threads},
            Body{leases_->blocks()->device_view(), leases_->device_view(),
                 FunctorOf<Handler>(handler), block_limits(options, device.traits()),
                 device.oversubscribed(blocks_of(options)), blocks_of(options) >= many_blocks});
    }

    void connect(Device const& /*device*/, KernelOptions const& /*options*/,
                 std::shared_ptr<KernelSupervisor> kernel) {
        leases_->own(std::move(kernel));
    }

    [[nodiscard]] std::shared_ptr<Leases> const& leases() const { return leases_; }
    [[nodiscard]] bool all_answered() const { return leases_->all_drained(); }
    [[nodiscard]] bool outstanding(unsigned block) const { return leases_->lent(block); }

   private:
    std::shared_ptr<Leases> leases_;
};

}  // namespace CARILLON_TOOLCHAIN
}  // namespace carillon::detail
