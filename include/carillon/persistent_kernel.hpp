// SPDX-License-Identifier: Apache-2.0
// A kernel that never stops: every block answers the requests of its own channels with a handler.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <vector>

#include "carillon/block.hpp"
#include "carillon/channel.hpp"
#include "carillon/channel_memory.hpp"
#include "carillon/detail/host/kernel_host.hpp"
#include "carillon/detail/host/owned.hpp"
#include "carillon/detail/kernel/nearest_page.hpp"
#include "carillon/detail/kernel/serve.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/launch.hpp"
#include "carillon/pinned.hpp"
#include "carillon/placement.hpp"

namespace carillon {

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

// How many channels a kernel has, without its express ones. Throws UsageError for the options, and
// unless there are 1 to 64 a block, and one where a block has an express channel or a handler of
// several threads.
[[nodiscard]] unsigned channels_of(PersistentKernelOptions const& options, unsigned threads);

// Memory for a kernel's channels, arranged as the placement says; `blocks` of that is empty for
// blocks that may be anywhere.
struct PlacedMemory {
    std::shared_ptr<ChannelMemory> memory;
    ChannelPlacement placement;
};

// `threads`: of its handler.
[[nodiscard]] PlacedMemory place_kernel(Device const& device,
                                        PersistentKernelOptions const& options, unsigned threads,
                                        LaunchProbe launch);

// A block of one thread with one channel.
template <class Handler, class Request, class Reply>
struct ServeBody {
    ChannelTable channels;
    Handler handler;
    BlockLimits limits;
    bool oversubscribed;

    CARILLON_HD void operator()(unsigned block) const {
        ChannelView const view = channels.channel(block);
        Handler own = handler;
        serve(DeviceChannel<Request, Reply>(view.requests, view.replies), own,
              limits.control(view, DeviceClock(oversubscribed)));
    }
};

// A block with an express channel too, or whose threads serve together.
template <class Handler, class Request, class Reply>
struct ServeTogetherBody {
    ChannelTable channels;
    Handler handler;
    BlockLimits limits;
    bool oversubscribed;
    unsigned express;  // where the express channels begin; 0: there are none

    CARILLON_HD void operator()(unsigned block) const {
        using Channel = DeviceChannel<Request, Reply>;
        using Threads = std::conditional_t<threads_of<Handler>() == 1, OneThread, BlockThreads>;
        ChannelView const view = channels.channel(block);
        ChannelView const ahead = express != 0 ? channels.channel(express + block) : view;
        Handler own = handler;
        serve_together(express != 0, Channel(ahead.requests, ahead.replies),
                       Channel(view.requests, view.replies), own,
                       limits.control(view, DeviceClock(oversubscribed)), Threads());
    }
};

template <class Handler, class Request, class Reply>
struct WatchBody {
    ChannelTable channels;
    Handler handler;
    unsigned channels_per_block;
    BlockLimits limits;
    bool oversubscribed;

    CARILLON_HD void operator()(unsigned block) const {
        using Channel = DeviceChannel<Request, Reply>;
        Room<Channel> own_room;
        auto* const watched = reinterpret_cast<Channel*>(block::shared(own_room).bytes);
        unsigned const first = block * channels_per_block;
        for (unsigned i = block::thread(); i < channels_per_block; i += block::threads()) {
            ChannelView const view = channels.channel(first + i);
            ::new (watched + i) Channel(view.requests, view.replies);
        }
        block::barrier();
        Handler own = handler;
        ChannelView const leading = channels.channel(first);
        DeviceClock const clock(oversubscribed);
        serve_watch(watched, channels_per_block, nearest_bells(block, leading.status, clock), own,
                    limits.control(leading, clock));
    }

   private:
    // Those of the block's two places for bells that are nearer to it. The host reads in the status
    // line which, once it sees there that the block has started.
    CARILLON_HD std::uint64_t const* nearest_bells(unsigned block, StatusLine* status,
                                                   DeviceClock const& clock) const {
        WarpLanes const lanes;
        std::uint64_t place = 0;
        if (lanes.thread_rank() == 0) {
            std::uint64_t* const bells = channels.bells(block, 0);
            place = nearest_place(DeviceNear(), clock, bells, ChannelTable::page, 2);
            FlagWriter<std::uint64_t, DeviceFar>(&status->bells).set(place);
        }
        return channels.bells(block, static_cast<unsigned>(lanes.broadcast(place)));
    }

    template <class Channel>
    struct Room {
        alignas(Channel) unsigned char bytes[bells_per_block * sizeof(Channel)];
    };
};

}  // namespace detail

// `Handler` is a trivially copyable functor, its operator() CARILLON_HD, from a request to a
// reply; it may keep state: every block has a copy of its own, used by one thread. Where a block
// has several channels every lane has a copy, and which channels share one is not said. A handler
// with a `static constexpr unsigned threads` above 1 is run by so many threads of a block together,
// each with a copy of its own: block::thread() says which one it is, and the first one's result is
// the reply. On the emulated device one thread is all of them.
template <class Handler, class Request = detail::RequestOf<Handler>,
          class Reply = detail::ReplyOf<Handler>,
          detail::Toolchain toolchain = detail::this_toolchain>
class PersistentKernel {
   public:
    // Allocates the rings, starts the kernel and returns when every block runs. Throws
    // ResidencyError, UsageError, TimeoutError, CudaError, and what Device::allocate throws.
    explicit PersistentKernel(Device const& device, PersistentKernelOptions const& options = {},
                              Handler handler = {})
        : PersistentKernel(device,
                           detail::place_kernel(device, options, detail::threads_of<Handler>(),
                                                &detail::launch_probe<toolchain>),
                           options, handler) {}

    // The same in memory that the caller has: as many of its channels as the blocks have;
    // options.capacity and the options of placement are not looked at. The rings in it are made
    // empty first.
    PersistentKernel(Device const& device, std::shared_ptr<ChannelMemory> memory,
                     PersistentKernelOptions const& options, Handler handler = {})
        : PersistentKernel(device,
                           detail::PlacedMemory{detail::checked_memory("PersistentKernel", device,
                                                                       std::move(memory), 0),
                                                {{}, "the caller brought the memory"}},
                           options, handler) {}

    // One that was moved from has no channels, and all else throws UsageError.
    PersistentKernel(PersistentKernel&&) noexcept = default;
    PersistentKernel& operator=(PersistentKernel&&) noexcept = default;
    PersistentKernel(PersistentKernel const&) = delete;
    PersistentKernel& operator=(PersistentKernel const&) = delete;
    // Stops the kernel, waiting for at most options.stop_timeout; never throws.
    ~PersistentKernel() = default;

    // A channel, for one thread at a time. Block b has the channels_per_block channels from
    // b * channels_per_block on. Throws UsageError for a channel that is not.
    [[nodiscard]] Channel<Request, Reply>& channel(unsigned index = 0) {
        if (index >= channels_.size()) {
            throw UsageError("PersistentKernel::channel", "there is no such channel");
        }
        return *channels_[index];
    }

    // The channel that a block serves first, if options.express says that there is one: a request
    // waits for the one that the block is at, for no other of the block's. Throws UsageError.
    [[nodiscard]] Channel<Request, Reply>& express(unsigned block = 0) {
        if (block >= express_.size()) {
            throw UsageError("PersistentKernel::express", "there is no such channel");
        }
        return *express_[block];
    }

    [[nodiscard]] unsigned channels() const { return static_cast<unsigned>(channels_.size()); }
    [[nodiscard]] unsigned blocks() const { return host("PersistentKernel::blocks").blocks(); }
    // Which multiprocessor a block runs on. Throws UsageError for a block that is not.
    [[nodiscard]] unsigned multiprocessor(unsigned block = 0) const {
        return host("PersistentKernel::multiprocessor").multiprocessor(block);
    }

    // Where it was put, and what was left to chance.
    [[nodiscard]] ChannelPlacement const& placement() const { return placement_; }

    // What becomes of it, at any time and from any thread. Throws UsageError for a block that is
    // not.
    [[nodiscard]] KernelState state() const { return host("PersistentKernel::state").state(); }
    [[nodiscard]] BlockActivity activity(unsigned block = 0) const {
        host("PersistentKernel::activity").require_block("activity", block);
        return host_->activity(block, outstanding(block));
    }

    // Ends the kernel when it has answered what was accepted: from now on every submit throws
    // StoppedError, and what was submitted before has its reply, which can be taken afterwards too.
    // Throws TimeoutError if requests are unanswered after `timeout`, because a handler is still at
    // one or because replies that nobody takes leave no room: the kernel goes on draining then,
    // drain again or stop(). Throws CudaError if the kernel died.
    void drain(std::chrono::nanoseconds timeout) {
        host("PersistentKernel::drain").drain([this] { return all_answered(); }, timeout);
    }
    // Ends the kernel. Requests that it has not taken yet stay unanswered; every later call on a
    // channel throws StoppedError. Throws TimeoutError if it has not ended within `timeout` (ask
    // again, or let go: nothing that it may still touch is freed), CudaError if it had died.
    void stop(std::chrono::nanoseconds timeout = std::chrono::seconds(5)) {
        host("PersistentKernel::stop").stop(timeout);
    }
    // Whether the kernel is still there. Throws CudaError if it died.
    [[nodiscard]] bool running() const { return host("PersistentKernel::running").running(); }

   private:
    PersistentKernel(Device const& device, detail::PlacedMemory placed,
                     PersistentKernelOptions const& options, Handler handler)
        : placement_(std::move(placed.placement)) {
        static_assert(std::is_trivially_copyable_v<Handler>,
                      "carillon: a handler must be trivially copyable: it is passed to the kernel "
                      "by value");
        auto const& memory = placed.memory;
        unsigned const channels = detail::channels_of(options, detail::threads_of<Handler>());
        unsigned const express = options.express ? options.blocks : 0;
        if (channels > memory->channels() || express > memory->channels() - channels) {
            throw UsageError("PersistentKernel",
                             "more blocks than the memory has channels for them");
        }
        HostWait const wait =
            HostWait::for_kernel(device.traits().shares_processors, options.blocks, options.wait);
        memory->reset();
        host_ = detail::KernelHost::make(device, memory, options);
        host_->run(start(device, memory->on_device(), options, handler));
        for (unsigned i = 0; i < channels; ++i) {
            channels_.push_back(std::make_unique<Channel<Request, Reply>>(
                device, memory, i, wait, host_, bell(*memory, options.channels_per_block, i)));
        }
        for (unsigned i = 0; i < express; ++i) {
            express_.push_back(std::make_unique<Channel<Request, Reply>>(
                device, memory, channels + i, wait, host_));
        }
    }

    [[nodiscard]] RunningKernel start(Device const& device, ChannelTable const& channels,
                                      PersistentKernelOptions const& options,
                                      Handler const& handler) const {
        BlockLimits const limits = detail::block_limits(options, device.traits());
        bool const oversubscribed = device.oversubscribed(options.blocks);
        constexpr unsigned threads = detail::threads_of<Handler>();
        if constexpr (threads == 1) {
            if (!options.express) {
                return start_lone_threads(device, channels, options, handler, limits,
                                          oversubscribed);
            }
        }
        // One channel a block, and perhaps an express one: channels_of() has seen to that.
        using Serve = detail::ServeTogetherBody<Handler, Request, Reply>;
        return launch<Serve, toolchain>(
            device, LaunchShape{options.blocks, threads},
            Serve{channels, handler, limits, oversubscribed, options.express ? options.blocks : 0});
    }

    // One channel a block is polled itself, without bells.
    [[nodiscard]] RunningKernel start_lone_threads(
        Device const& device, ChannelTable const& channels, PersistentKernelOptions const& options,
        Handler const& handler, BlockLimits const& limits, bool oversubscribed) const {
        if (options.channels_per_block == 1) {
            using Serve = detail::ServeBody<Handler, Request, Reply>;
            auto const pins = placement_.blocks.empty()
                                  ? Pins(options.blocks)
                                  : Pins(device, placement_.multiprocessors());
            return launch_pinned<Serve, toolchain>(
                device, pins, Serve{channels, handler, limits, oversubscribed});
        }
        using Watch = detail::WatchBody<Handler, Request, Reply>;
        return launch<Watch, toolchain>(
            device, LaunchShape{options.blocks, lanes_per_warp},
            Watch{channels, handler, options.channels_per_block, limits, oversubscribed});
    }

    // Where a block hears of a channel's requests; nullptr where it polls the ring itself.
    [[nodiscard]] std::uint64_t* bell(ChannelMemory const& memory, unsigned each,
                                      unsigned channel) const {
        if (each == 1) return nullptr;
        unsigned const block = channel / each;
        return memory.on_host().bells(block, host_->place_of_bells(block)) + channel % each;
    }

    [[nodiscard]] detail::KernelHost& host(std::string_view call) const {
        return detail::owned(host_, call).of_this_process(call);
    }

    // Each stays where it is, and a kernel is moved without memory: a std::deque needs some.
    using Channels = std::vector<std::unique_ptr<Channel<Request, Reply>>>;
    // Of `count` channels from `first` on.
    [[nodiscard]] static bool all_answered(Channels const& channels, std::size_t first,
                                           std::size_t count) {
        return std::all_of(channels.begin() + first, channels.begin() + first + count,
                           [](auto const& channel) { return channel->all_answered(); });
    }
    [[nodiscard]] bool all_answered() const {
        return all_answered(channels_, 0, channels_.size()) &&
               all_answered(express_, 0, express_.size());
    }
    // Whether a block has requests that it has not answered.
    [[nodiscard]] bool outstanding(unsigned block) const {
        std::size_t const each = channels_.size() / blocks();
        if (!all_answered(channels_, block * each, each)) return true;
        return !express_.empty() && !express_[block]->all_answered();
    }

    ChannelPlacement placement_;
    std::shared_ptr<detail::KernelHost> host_;
    Channels channels_;
    Channels express_;  // of every block, or none
};

}  // namespace carillon
