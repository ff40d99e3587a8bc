// SPDX-License-Identifier: Apache-2.0
// A kernel that never stops: every block answers the requests of its own channel with a handler.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "carillon/channel.hpp"
#include "carillon/channel_memory.hpp"
#include "carillon/launch.hpp"
#include "carillon/serve.hpp"

namespace carillon {

struct PersistentKernelOptions {
    unsigned blocks = 1;           // each with a channel and a copy of the handler
    std::uint32_t capacity = 256;  // slots of a channel, each way; a power of two
    std::chrono::nanoseconds start_timeout = std::chrono::seconds(10);
    // How long the destructor waits for the kernel to end.
    std::chrono::nanoseconds stop_timeout = std::chrono::seconds(5);
    // The kernel ends by itself after so long; 0 for never.
    std::chrono::nanoseconds lifetime{0};
};

namespace detail {

// Request and Reply of a handler whose operator() is neither overloaded nor a template.
template <class Member>
struct HandlerSignature;
template <class H, class R, class Q>
struct HandlerSignature<R (H::*)(Q)> {
    using Request = std::remove_cvref_t<Q>;
    using Reply = R;
};
template <class H, class R, class Q>
struct HandlerSignature<R (H::*)(Q) const> : HandlerSignature<R (H::*)(Q)> {};
template <class H, class R, class Q>
struct HandlerSignature<R (H::*)(Q) noexcept> : HandlerSignature<R (H::*)(Q)> {};
template <class H, class R, class Q>
struct HandlerSignature<R (H::*)(Q) const noexcept> : HandlerSignature<R (H::*)(Q)> {};

template <class Handler>
using RequestOf = typename HandlerSignature<decltype(&Handler::operator())>::Request;
template <class Handler>
using ReplyOf = typename HandlerSignature<decltype(&Handler::operator())>::Reply;

template <class Handler, class Request, class Reply>
struct ServeBody {
    ChannelTable channels;
    Handler handler;
    std::uint64_t lifetime_ns;
    bool oversubscribed;

    CARILLON_HD void operator()(unsigned block) const {
        ChannelView const view = channels.channel(block);
        Handler own = handler;
        serve(DeviceChannel<Request, Reply>(view.requests, view.replies), own,
              BlockControl(view.control, view.status, lifetime_ns, DeviceClock(oversubscribed)));
    }
};

// A running kernel and its memory: what PersistentKernel does not need its types for.
class KernelHost final : public ChannelPeer {
   public:
    KernelHost(Device device, std::shared_ptr<ChannelMemory> memory, RunningKernel running,
               PersistentKernelOptions const& options);
    KernelHost(KernelHost const&) = delete;
    KernelHost& operator=(KernelHost const&) = delete;
    ~KernelHost() override;

    // Waits until every block has said that it runs. Throws TimeoutError.
    void await_start();
    void stop(std::chrono::nanoseconds timeout);
    [[nodiscard]] bool running() const;
    [[nodiscard]] unsigned multiprocessor(unsigned block) const;

    void require_open(std::string_view call) const override;
    void require_alive(std::string_view call) override;

   private:
    void ask_to_stop();

    Device device_;
    std::shared_ptr<ChannelMemory> memory_;
    PersistentKernelOptions options_;
    std::atomic<bool> stopped_ = false;
    RunningKernel running_;  // goes first: the memory outlives the kernel
};

}  // namespace detail

// `Handler` is a trivially copyable functor, its operator() CARILLON_HD, from a request to a
// reply; it may keep state: every block has a copy of its own, used by one thread.
template <class Handler, class Request = detail::RequestOf<Handler>,
          class Reply = detail::ReplyOf<Handler>,
          detail::Toolchain toolchain = detail::this_toolchain>
class PersistentKernel {
   public:
    // Allocates the rings, starts the kernel and returns when every block runs. Throws
    // ResidencyError, UsageError, TimeoutError, CudaError, and what Device::allocate throws.
    explicit PersistentKernel(Device const& device, PersistentKernelOptions const& options = {},
                              Handler handler = {})
        : PersistentKernel(
              device, std::make_shared<ChannelMemory>(device, options.blocks, options.capacity),
              options, handler) {}

    // The same in memory that the caller has: options.blocks of its channels; options.capacity
    // is not looked at. The rings in it are made empty first.
    PersistentKernel(Device const& device, std::shared_ptr<ChannelMemory> memory,
                     PersistentKernelOptions const& options, Handler handler = {}) {
        static_assert(std::is_trivially_copyable_v<Handler>,
                      "carillon: a handler must be trivially copyable: it is passed to the kernel "
                      "by value");
        if (options.blocks > memory->channels()) {
            throw UsageError("PersistentKernel", "more blocks than the memory has channels");
        }
        memory->reset();
        detail::ServeBody<Handler, Request, Reply> const body{
            memory->on_device(), handler, static_cast<std::uint64_t>(options.lifetime.count()),
            device.emulated() && HostWait::oversubscribed(options.blocks)};
        host_ = std::make_shared<detail::KernelHost>(
            device, memory,
            launch<detail::ServeBody<Handler, Request, Reply>, toolchain>(device, options.blocks,
                                                                          body),
            options);
        host_->await_start();
        HostWait const wait = HostWait::for_kernel(device.emulated(), options.blocks);
        channels_.reserve(options.blocks);
        for (unsigned i = 0; i < options.blocks; ++i) {
            channels_.emplace_back(device, memory, i, wait, host_);
        }
    }

    PersistentKernel(PersistentKernel&&) noexcept = default;
    PersistentKernel& operator=(PersistentKernel&&) noexcept = default;
    PersistentKernel(PersistentKernel const&) = delete;
    PersistentKernel& operator=(PersistentKernel const&) = delete;
    // Stops the kernel, waiting for at most options.stop_timeout; never throws.
    ~PersistentKernel() = default;

    // The channel of a block, for one thread at a time. Throws UsageError for a block that is not.
    [[nodiscard]] Channel<Request, Reply>& channel(unsigned block = 0) {
        if (block >= channels_.size()) {
            throw UsageError("PersistentKernel::channel", "there is no such block");
        }
        return channels_[block];
    }

    [[nodiscard]] unsigned blocks() const { return static_cast<unsigned>(channels_.size()); }
    // Which multiprocessor a block runs on.
    [[nodiscard]] unsigned multiprocessor(unsigned block = 0) const {
        return host_->multiprocessor(block);
    }

    // Ends the kernel. Requests that it has not taken yet stay unanswered; every later call on a
    // channel throws StoppedError. Throws TimeoutError if it has not ended within `timeout` (ask
    // again, or let go: nothing that it may still touch is freed), CudaError if it had died.
    void stop(std::chrono::nanoseconds timeout = std::chrono::seconds(5)) { host_->stop(timeout); }
    // Whether the kernel is still there. Throws CudaError if it died.
    [[nodiscard]] bool running() const { return host_->running(); }

   private:
    std::shared_ptr<detail::KernelHost> host_;
    std::vector<Channel<Request, Reply>> channels_;
};

}  // namespace carillon
