// SPDX-License-Identifier: Apache-2.0
// `PersistentKernel`, the core of most programs: a running kernel that answers the CPU's requests.
#pragma once

#include <chrono>
#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include "carillon/arguments.hpp"
#include "carillon/client.hpp"
#include "carillon/detail/host/ends_of_blocks.hpp"
#include "carillon/detail/host/kernel_supervisor.hpp"
#include "carillon/detail/host/owned.hpp"
#include "carillon/detail/host/routes.hpp"
#include "carillon/detail/kernel/block_state.hpp"
#include "carillon/detail/kernel/handler_messages.hpp"
#include "carillon/detail/serving/shared_route.hpp"
#include "carillon/error.hpp"
#include "carillon/placement.hpp"
#include "carillon/server.hpp"

namespace carillon {

namespace detail {

// Makes a kernel's handlers: its body's argument, and their memory until all blocks have begun.
template <class Handler>
class BlockHandlers {
    using Functor = FunctorOf<Handler>;

   public:
    // `source` is a Handler or makes handlers; `lanes_apart` says that each lane of a block has a
    // copy. Throws what require_launch() and make_for_each_block() throw, and UsageError if copies
    // of a handler would share an end.
    template <class Source>
    [[nodiscard]] static BlockHandlers from(Device const& device, unsigned blocks, bool lanes_apart,
                                            Source& source) {
        if constexpr (MakesHandlers<Source, Handler>) {
            auto const make = [&](unsigned block) {
                Functor functor =
                    functor_of(in_callback([&] { return source(block); }), lanes_apart);
                if (lanes_apart) refuse_copied_ends(&functor, sizeof(functor), lanes);
                return functor;
            };
            require_launch(device, blocks);
            return BlockHandlers(
                make_for_each_block<Functor>(device, blocks, make, BlockNumbers::unknown));
        } else {
            Functor const functor = functor_of(source, lanes_apart);
            refuse_copied_ends(&functor, sizeof(functor), lanes_apart ? lanes : blocks);
            return BlockHandlers(functor);
        }
    }
    [[nodiscard]] Handlers<Functor> const& view() const { return view_; }

   private:
    static constexpr unsigned lanes = 0;  // see refuse_copied_ends

    static Functor functor_of(Handler const& handler, bool lanes_apart) {
        if (HasShared<Handler> && lanes_apart) {
            throw UsageError(
                "a handler with Shared needs a stripe of 1: with more, the lanes of a warp run it "
                "separately");
        }
        return Functor(handler);
    }

    explicit BlockHandlers(Functor const& of_all) : view_(of_all) {}
    explicit BlockHandlers(Memory memory)
        : memory_(std::move(memory)), view_(static_cast<Functor const*>(memory_.device_ptr())) {}

    Memory memory_;
    Handlers<Functor> view_;
};

}  // namespace detail

using detail::DeviceChannel;
static_assert(std::is_trivially_copyable_v<DeviceChannel<int, int>>);  // it is a kernel's argument
inline namespace CARILLON_TOOLCHAIN {

// Runs until it is stopped; its blocks answer each request of the host by a handler. channel(), or
// client() of a pool, returns the host's end, a `Client`. One round trip is `Client::call`.
//
// `Handler` is a trivially copyable functor of at most handler_bytes. Its operator() is
// CARILLON_HD, takes a request and returns the reply. It may keep state: every block has its own
// copy, which one thread uses. If the lanes of a warp serve (WatchedChannels, a Pool with a
// stripe), every lane has a copy, and it is unspecified which requests share one. A handler with a
// `static constexpr unsigned threads` above 1 is run by that many threads of a block together, each
// with its own copy: block::thread_rank() is the thread's number, and the first thread's result is
// the reply. On the emulated device one thread stands for all of them.
//
// A handler that declares `using Commands = carillon::Commands<A, B, C>` has an operator() for each
// command, which returns a reply, nothing, or an Outcome<Reply>. Any other handler whose operator()
// is overloaded or a template declares `using Request` and `using Reply`.
//
// `Requests` says how requests reach the blocks: Channels, WatchedChannels or Pool; from other
// processes SharedChannels or SharedPool.
template <class Handler, class Requests = Channels>
class PersistentKernel {
    static_assert(!WayOfRequests<Handler>,
                  "carillon: the kernel's type says how requests come, and the handler follows the "
                  "options: PersistentKernel<Handler, SharedChannels>(device, options, handler)");
    static_assert(WayOfRequests<Requests>,
                  "carillon: requests come in one of five ways: PersistentKernel<Handler>, or "
                  "PersistentKernel<Handler, Pool>; WatchedChannels, SharedChannels, SharedPool");
    static_assert(detail::check_handler<Handler>());

    using Route = detail::Route<Handler, Requests>;
    static constexpr bool pooled = std::same_as<Requests, Pool>;
    static constexpr bool one_channel = std::same_as<Requests, Channels>;
    static constexpr bool either = std::same_as<Requests, detail::BytesRequests>;  // at run time
    static constexpr bool shared =
        std::same_as<Requests, SharedChannels> || std::same_as<Requests, SharedPool> || either;
    static constexpr bool has_channels = either || (!pooled && !shared);
    using Options = std::conditional_t<either, Requests, KernelOptions>;

   public:
    using Client = typename Route::Client;  // the type of channel(), express() and client()

    // Allocates the rings, starts the kernel and returns when every block runs. `handler` is a
    // Handler, which every block copies, or a function that makes each block's own, as in
    // [](unsigned block) { return Handler{...}; }. The constructor calls it once for each block.
    // Throws ResidencyError; UsageError for bad options, options of another way than Requests,
    // memory that another kernel has, and an end in a handler that several blocks would copy;
    // TimeoutError, CudaError, and what Device::allocate and the function throw.
    template <HandlerSource<Handler> Source = Handler>
    explicit PersistentKernel(Device const& device, Options options = {}, Source handler = {}) try
        : route_(device, (detail::settle<Requests>(device, options), options)),
          supervisor_(detail::KernelSupervisor::make(device, route_.blocks(), options,
                                                     route_.channels_per_block())) {
        auto const handlers = detail::BlockHandlers<Handler>::from(device, supervisor_->blocks(),
                                                                   route_.lanes_apart(), handler);
        supervisor_->run(route_.start(device, options, handlers.view()));
        route_.connect(device, options, supervisor_);
    } catch (...) {
        detail::throw_named("PersistentKernel");
    }

    // These reject arguments that are neither options nor a handler, with a readable message.
    template <class Other, class Third = KernelOptions, class Last = KernelOptions>
    requires(!std::convertible_to<Other, Options>)
        PersistentKernel(Device const& /*device*/, Other const& /*options*/,
                         Third const& /*rest*/ = {}, Last const& /*rest*/ = {})
        : PersistentKernel(no_options<Other>()) {}
    template <class Other, class... Rest>
    requires(!HandlerSource<Other, Handler>)
        PersistentKernel(Device const& /*device*/, Options const& /*options*/,
                         Other const& /*handler*/, Rest const&... /*rest*/)
        : PersistentKernel(no_handler<Other>()) {}

    // A moved-from kernel has no channels, and all its calls but placement() throw UsageError. A
    // kernel with a pool, or for clients of other processes, cannot be assigned to.
    PersistentKernel(PersistentKernel&&) noexcept = default;
    PersistentKernel& operator=(PersistentKernel&& other) noexcept requires(!shared && !pooled) {
        if (this != &other) {
            route_ = std::move(other.route_);
            supervisor_ = std::move(other.supervisor_);
        }
        return *this;
    }
    // Stops the kernel, waiting at most options.stop_timeout; never throws. A server and a pool's
    // clients may outlive it.
    ~PersistentKernel() {
        if (supervisor_) supervisor_->end();
    }

    // Returns the client of a channel, for one thread at a time. Block b has channel b, or with
    // WatchedChannels the `per_block` channels from b * per_block on. Throws UsageError for a
    // channel that does not exist.
    [[nodiscard]] Client& channel(unsigned index = 0) requires(has_channels) {
        return detail::in_call("PersistentKernel::channel",
                               [&]() -> Client& { return route_.channels().at(index); });
    }
    // The number of channels, without the express ones.
    [[nodiscard]] unsigned channels() const requires(has_channels) {
        return detail::in_call("PersistentKernel::channels",
                               [&] { return static_cast<unsigned>(route_.channels().size()); });
    }
    // Returns the client of a block's express channel, which the block serves first: a request
    // waits only for the request that the block serves now. Throws UsageError for a block that does
    // not exist, and without Channels::express.
    [[nodiscard]] Client& express(unsigned block = 0) requires(one_channel) {
        return detail::in_call("PersistentKernel::express",
                               [&]() -> Client& { return route_.express(block); });
    }
    // The places of the kernel's blocks and channels, and the parts that were not placed.
    [[nodiscard]] ChannelPlacement const& placement() const requires(one_channel) {
        return route_.placement();
    }
    // Makes a client of the pool for the calling thread. The client may outlive the kernel. Throws
    // UsageError if Pool::clients clients exist already.
    [[nodiscard]] Client client() const requires(pooled) {
        return detail::in_call("PersistentKernel::client", [&] { return route_.client(); });
    }
    // Lets clients of other processes connect (connect()) at a Unix socket that it makes at `path`,
    // while the returned server lives. Clients ask for `name`, of 1 to 63 characters. The server
    // may outlive the kernel: clients learn that the kernel has ended. Throws UsageError for the
    // path, the options or the name; SystemError.
    [[nodiscard]] Server serve(PathArgument const& path, ServeOptions const& options = {},
                               NameArgument name = "kernel") const requires(shared) {
        return detail::in_call("PersistentKernel::serve", [&] {
            (void)supervisor();
            return detail::ServerMaker::make(path, route_.leases(), options, name);
        });
    }
    // Serves the kernel at the path of an existing server, see Server::add.
    void serve(Server& server, NameArgument name) const requires(shared) {
        detail::in_call("PersistentKernel::serve", [&] {
            (void)supervisor();
            detail::ServerMaker::add(server, name, route_.leases());
        });
    }

    // The number of blocks that serve: KernelOptions::blocks, or the number chosen by default.
    [[nodiscard]] unsigned blocks() const {
        return detail::in_call("PersistentKernel::blocks", [&] { return supervisor().blocks(); });
    }
    // The SM on which a block runs. Throws UsageError for a block that does not exist.
    [[nodiscard]] unsigned sm(unsigned block = 0) const {
        return detail::in_call("PersistentKernel::sm", [&] { return supervisor().sm(block); });
    }

    // The state of the kernel, or of a block; from any thread at any time. A block of a Pool or
    // SharedPool counts as busy while any request is unanswered; a block of SharedChannels, while a
    // request of its client is. activity() throws UsageError for a block that does not exist.
    [[nodiscard]] KernelState state() const {
        return detail::in_call("PersistentKernel::state", [&] { return supervisor().state(); });
    }
    [[nodiscard]] BlockActivity activity(unsigned block = 0) const {
        return detail::in_call("PersistentKernel::activity", [&] {
            supervisor().require_block(block);
            return supervisor_->activity(block, route_.outstanding(block));
        });
    }

    // The heartbeats of a block. Throws UsageError for a block that does not exist. For counts of
    // messages see `Client::counters`.
    [[nodiscard]] BlockBeats beats(unsigned block = 0) const {
        return detail::in_call("PersistentKernel::beats",
                               [&] { return supervisor().beats(block); });
    }

    // Ends the kernel once it has answered all accepted requests. From now on every submit throws
    // StoppedError and sends nothing. Every ticket that a submit returns, even one that runs while
    // the drain begins, gets its reply, which can also be taken afterwards. Throws TimeoutError if
    // requests are unanswered after `timeout`, because a handler still runs or untaken replies
    // leave no room. The kernel then goes on draining: drain again, or stop(). Once all requests
    // are answered, the kernel has the rest of `timeout`, but at least a second, to end; otherwise
    // TimeoutError. Throws what running() throws. If two threads drain at the same time, one may
    // get StoppedError, because the other has ended the kernel.
    void drain(std::chrono::nanoseconds timeout) {
        detail::in_call("PersistentKernel::drain", [&] {
            supervisor().drain([this] { return route_.all_answered(); }, timeout);
        });
    }
    // Ends the kernel. Requests that it has not taken yet stay unanswered, and every later call of
    // a client throws StoppedError. Throws TimeoutError if the kernel has not ended within
    // `timeout` (stop it again or destroy this object: no memory is freed that the kernel may still
    // use), and what running() throws.
    void stop(std::chrono::nanoseconds timeout = std::chrono::seconds(5)) {
        detail::in_call("PersistentKernel::stop", [&] { supervisor().stop(timeout); });
    }
    // Whether the kernel still runs. Throws the error that ended it: CudaError, or on the emulated
    // device the exception of a handler.
    [[nodiscard]] bool running() const {
        return detail::in_call("PersistentKernel::running", [&] { return supervisor().running(); });
    }

   private:
    template <class Other>
    static PersistentKernel no_options() {
        static_assert(!std::integral<Other>,
                      "carillon: the number of blocks is one of the options: "
                      "PersistentKernel<Handler>(device, {.blocks = 4})");
        static_assert(
            std::integral<Other> || !HandlerSource<Other, Handler>,
            "carillon: the options go before the handler: PersistentKernel(device, {}, handler)");
        static_assert(std::integral<Other> || HandlerSource<Other, Handler>,
                      "carillon: the kernel's type says how requests come, and the options hold "
                      "the settings and the memory: PersistentKernel<Handler, Pool>(device, "
                      "{.blocks = 2, .pool = {.clients = 8}}, handler)");
    }
    template <class Other>
    static PersistentKernel no_handler() {
        static_assert(WayOfRequests<Other>,
                      "carillon: the handler, or a function that makes each block's handler, "
                      "follows the options: [](unsigned block) { return Handler{...}; }");
        static_assert(!WayOfRequests<Other>,
                      "carillon: the kernel's type says how requests come: "
                      "PersistentKernel<Handler, SharedChannels>(device, options, handler)");
    }

    [[nodiscard]] detail::KernelSupervisor& supervisor() const {
        return detail::owned_here(supervisor_);
    }

    Route route_;
    // Clients share it; it holds the memory.
    std::shared_ptr<detail::KernelSupervisor> supervisor_;
};

template <class Source>
PersistentKernel(Device const&, KernelOptions const&, Source)
    -> PersistentKernel<typename HandlerFrom<Source>::Type>;
// The constructor explains the error in these.
template <HandlerLike Source>
PersistentKernel(Device const&, Source) -> PersistentKernel<typename HandlerFrom<Source>::Type>;
template <class Other, class Source>
PersistentKernel(Device const&, Other, Source)
    -> PersistentKernel<typename HandlerFrom<Source>::Type>;
template <class Other, class Source>
PersistentKernel(Device const&, Other, KernelOptions const&, Source)
    -> PersistentKernel<typename HandlerFrom<Source>::Type>;

}  // namespace CARILLON_TOOLCHAIN
}  // namespace carillon
