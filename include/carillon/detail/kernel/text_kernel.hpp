// SPDX-License-Identifier: Apache-2.0
// The kernels of a handler given as text: NVRTC compiles this around the text, and the host passes
// a TextKernel. The bodies are those of PersistentKernel.
#pragma once

#include <cstddef>
#include <type_traits>

#include "carillon/detail/kernel/channel_bodies.hpp"
#include "carillon/detail/kernel/handler_messages.hpp"
#include "carillon/detail/kernel/lease_body.hpp"
#include "carillon/detail/protocol/lease.hpp"

namespace carillon::detail {

// The kernels' one parameter, for any handler.
struct TextKernel {
    KernelBlocks blocks;
    LeaseTable leases;  // for kernels whose clients are other processes
};

// Compares the declared sizes of a handler's messages with the real ones; the compiler prints both.
template <std::size_t bytes, std::size_t declared>
struct BytesOfRequest {
    static_assert(bytes == declared,
                  "carillon: the size of the handler's request differs from the declared one");
};
template <std::size_t bytes, std::size_t declared>
struct BytesOfReply {
    static_assert(bytes == declared,
                  "carillon: the size of the handler's reply differs from the declared one");
};
template <std::size_t bytes, std::size_t of_library>
struct BytesOfTextKernel {
    static_assert(bytes == of_library,
                  "carillon: these headers differ from those of the library's build");
};

template <class Handler, std::size_t request_bytes, std::size_t reply_bytes>
struct TextBodies {
    static_assert(check_handler_object<Handler>());
    using Functor = FunctorOf<Handler>;
    using Request = typename MessagesOf<Handler>::Request;
    using Reply = typename MessagesOf<Handler>::Reply;
    static constexpr BytesOfRequest<sizeof(Request), request_bytes> request_as_declared{};
    static constexpr BytesOfReply<sizeof(Reply), reply_bytes> reply_as_declared{};

    static constexpr unsigned threads = serving_threads<Functor, Request, Reply>();
    using ChannelsBody =
        std::conditional_t<threads_of<Functor>() == 1, ServeBody<Functor, Request, Reply>,
                           ServeTogetherBody<Functor, Request, Reply>>;
    using LeasesBody = LeaseBody<Functor, Request, Reply>;

    CARILLON_HD static void serve_channels(TextKernel const& kernel, unsigned block) {
        ChannelsBody{kernel.blocks, Functor{Handler{}}}(block);
    }
    CARILLON_HD static void serve_leases(TextKernel const& kernel, unsigned block) {
        LeasesBody{kernel.blocks, kernel.leases, Functor{Handler{}}}(block);
    }
};

}  // namespace carillon::detail

// The kernels of `Handler`, each in the two forms that most_threads_of may choose; one of each pair
// is empty. The sizes of two variables tell the number of threads and the form: the driver knows
// them without reading device memory.
#define CARILLON_TEXT_KERNELS(Handler, request_bytes, reply_bytes, kernel_bytes)                \
    namespace carillon::detail {                                                                \
    using TextHandler = TextBodies<Handler, request_bytes, reply_bytes>;                        \
    inline constexpr BytesOfTextKernel<sizeof(TextKernel), kernel_bytes> as_the_library{};      \
    inline constexpr unsigned text_bound = most_threads_of<typename TextHandler::ChannelsBody>; \
    inline constexpr unsigned some_bound = text_bound == 0 ? 1 : text_bound;                    \
    }                                                                                           \
    extern "C" {                                                                                \
    __device__ unsigned char carillon_threads[carillon::detail::TextHandler::threads];          \
    __device__ unsigned char carillon_forms[carillon::detail::text_bound == 0 ? 1 : 2];         \
    __global__ void carillon_channels(carillon::detail::TextKernel kernel) {                    \
        if constexpr (carillon::detail::text_bound == 0)                                        \
            carillon::detail::TextHandler::serve_channels(kernel, blockIdx.x);                  \
    }                                                                                           \
    __global__ void carillon_leases(carillon::detail::TextKernel kernel) {                      \
        if constexpr (carillon::detail::text_bound == 0)                                        \
            carillon::detail::TextHandler::serve_leases(kernel, blockIdx.x);                    \
    }                                                                                           \
    __global__ void __launch_bounds__(carillon::detail::some_bound)                             \
        carillon_channels_bounded(carillon::detail::TextKernel kernel) {                        \
        if constexpr (carillon::detail::text_bound != 0)                                        \
            carillon::detail::TextHandler::serve_channels(kernel, blockIdx.x);                  \
    }                                                                                           \
    __global__ void __launch_bounds__(carillon::detail::some_bound)                             \
        carillon_leases_bounded(carillon::detail::TextKernel kernel) {                          \
        if constexpr (carillon::detail::text_bound != 0)                                        \
            carillon::detail::TextHandler::serve_leases(kernel, blockIdx.x);                    \
    }                                                                                           \
    }
