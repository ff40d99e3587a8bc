// SPDX-License-Identifier: Apache-2.0
// Calls a handler, for all kernel bodies: with the state that its block's threads share, if it
// declares a `Shared`, and through its `idle()`, if it has one, while no request comes. Each block
// has a copy of one handler, or a handler that was made for it.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "carillon/block.hpp"
#include "carillon/detail/wire/config.hpp"

namespace carillon::detail {

template <class Handler>
concept HasShared = requires {
    typename Handler::Shared;
};

// The library's own threads use the rest of a block's shared memory.
inline constexpr std::size_t most_state_bytes = block::most_shared_bytes - 4096;

#if defined(__CUDA_ARCH__)
// The compiler names this function if Shared{} can only be called on the host (config.hpp).
template <class Shared>
__device__ void shared_needs_CARILLON_HD(void* room) {
    ::new (room) Shared{};
}
#endif

// The one Shared of the calling thread's block.
template <class Handler>
class BlockState {
    using Shared = typename Handler::Shared;
    static_assert(
        std::is_trivially_destructible_v<Shared>,
        "carillon: a handler's Shared must be trivially destructible: nothing destroys it");
    static_assert(sizeof(Shared) <= most_state_bytes,
                  "carillon: a handler's Shared must be at most 44 KiB: it is in shared memory");

   public:
    [[nodiscard]] CARILLON_HD static Shared& get() { return room().object(); }
    CARILLON_HD static void begin() {
#if defined(__CUDA_ARCH__)
        if (false) (void)&shared_needs_CARILLON_HD<Shared>;
#endif
        if (block::thread_rank() == 0) ::new (room().bytes) Shared{};
        block::sync({"carillon/detail/kernel/block_state.hpp", __LINE__});
    }

   private:
    [[nodiscard]] CARILLON_HD static block::Room<Shared>& room() {
        return block::shared<block::Room<Shared>, Handler>();
    }
};

// Prepares the state. All threads of a block call it before the first request.
template <class Handler>
CARILLON_HD void begin_state(Handler& /*handler*/) {
    if constexpr (HasShared<Handler>) BlockState<Handler>::begin();
}

// Calls `handler` with a request.
template <class Handler, class Request>
CARILLON_HD std::invoke_result_t<Handler&, Request const&> handle_by(Handler& handler,
                                                                     Request const& request) {
    return handler(request);
}
template <HasShared Handler, class Request>
CARILLON_HD std::invoke_result_t<Handler&, Request const&, typename Handler::Shared&> handle_by(
    Handler& handler, Request const& request) {
    return handler(request, BlockState<Handler>::get());
}
template <class Handler, class Request>
using ResultOf = decltype(handle_by(std::declval<Handler&>(), std::declval<Request const&>()));
template <class Handler, class Request>
concept Handles = requires(Handler& handler, Request const& request) {
    handle_by(handler, request);
};

// Calls check_device_call() for a handler, which may have a state.
template <class Reply, class Request, class Handler>
CARILLON_HD void check_handler_call(Handler& handler) {
    if constexpr (HasShared<Handler>) {
        static_assert(std::is_invocable_v<Handler&, Request, typename Handler::Shared&>,
                      "carillon: a handler that declares Shared takes it as the second argument: "
                      "operator()(request, shared)");
        check_device_call<Reply, Request, typename Handler::Shared&>(handler);
    } else {
        check_device_call<Reply, Request>(handler);
    }
}

// idle() of a handler with a state takes the state.
template <class Handler>
concept HasIdle = requires(Handler& handler) {
    handler.idle();
}
|| (HasShared<Handler> &&
    requires(Handler & handler, typename Handler::Shared& shared) { handler.idle(shared); });

#if defined(__CUDA_ARCH__)
// The compiler names this function if idle() can only be called on the host (config.hpp).
template <class Handler>
__device__ void idle_needs_CARILLON_HD(Handler& handler) {
    if constexpr (requires { handler.idle(); }) {
        handler.idle();
    } else {
        handler.idle(BlockState<Handler>::get());
    }
}
#endif

// Runs idle(). Each waiting loop calls it, after many failed polls and after each sleep; the
// threads that run the handler call it together.
template <class Handler>
CARILLON_HD void run_idle(Handler& handler) {
#if defined(__CUDA_ARCH__)
    if constexpr (HasIdle<Handler>) {
        if (false) (void)&idle_needs_CARILLON_HD<Handler>;
    }
#endif
    if constexpr (requires { handler.idle(); }) {
        handler.idle();
    } else if constexpr (HasIdle<Handler>) {
        handler.idle(BlockState<Handler>::get());
    }
}

// The handlers of a kernel's blocks. Trivially copyable if the functor is.
template <class Functor>
class Handlers {
   public:
    Handlers() requires requires { Functor{}; } : of_all_{} {
    }
    CARILLON_HD Handlers(Functor const& of_all) : of_all_(of_all) {}
    // `each`: the handlers of all blocks, in device memory until every block has started.
    explicit Handlers(Functor const* each) : each_(each), none_{} {}

    // Returns the functor of the calling thread's block. All threads of the block call it, once.
    [[nodiscard]] CARILLON_HD Functor begin(unsigned block) const {
        Functor own = each_ == nullptr ? of_all_ : each_[block];
        begin_state(own);
        return own;
    }

   private:
    Functor const* each_ = nullptr;
    union {
        Functor of_all_;
        unsigned char none_[sizeof(Functor)];
    };
};

}  // namespace carillon::detail
