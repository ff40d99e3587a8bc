// SPDX-License-Identifier: Apache-2.0
// The requirements for a handler, and for the body of a launch. The user sees these texts before
// anything else that would fail.
#pragma once

#include <type_traits>

#include "carillon/detail/kernel/block_state.hpp"
#include "carillon/detail/kernel/handler.hpp"
#include "carillon/detail/kernel/handler_messages.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

template <class Handler>
concept HasOneCall = requires {
    typename HandlerSignature<decltype(&Handler::operator())>::Reply;
};
template <class Handler>
constexpr bool check_handler_messages() {
    using Request = typename MessagesOf<Handler>::Request;
    using Reply = typename MessagesOf<Handler>::Reply;
    static_assert(!std::is_void_v<Reply>,
                  "carillon: a handler returns its reply: without anything to say, an empty "
                  "struct (carillon::Done)");
    static_assert(!std::is_reference_v<Reply>,
                  "carillon: a handler returns its reply by value: its bytes cross a bus");
    if constexpr (std::is_object_v<Reply>) {
        if constexpr (HasShared<Handler>) {
            static_assert(
                std::is_invocable_r_v<Reply, Handler&, Request const&, typename Handler::Shared&>,
                "carillon: a handler that declares Shared has it as the second argument: "
                "operator()(request, shared)");
        } else {
            static_assert(std::is_invocable_r_v<Reply, Handler&, Request const&>,
                          "carillon: a handler takes its request by value or by reference to "
                          "const, and returns its reply");
        }
        check_payload<Request>();
        check_payload<Reply>();
    }
    return true;
}

template <class Handler>
constexpr bool check_handler() {
    constexpr bool called = NamesCommands<Handler> || NamesMessages<Handler> || HasOneCall<Handler>;
    static_assert(called,
                  "carillon: a handler is a class with one operator() of one parameter, the "
                  "request; or it says what it takes: `using Request` and `using Reply`, or `using "
                  "Commands`");
    check_handler_object<Handler>();
    if constexpr (called && !NamesCommands<Handler>) check_handler_messages<Handler>();
    return true;
}

template <class Body>
constexpr void check_body() {
    static_assert(std::is_class_v<Body>,
                  "carillon: a kernel body is a class with an operator(): a GPU cannot call a "
                  "function of the host's");
    static_assert(std::is_trivially_copyable_v<Body>,
                  "carillon: a kernel body must be trivially copyable: it is passed by value");
    static_assert(sizeof(Body) <= handler_bytes,
                  "carillon: a kernel body must be at most 4096 bytes: keep more in device memory "
                  "(Device::allocate) that it points at");
    static_assert(std::is_invocable_v<Body&, unsigned>,
                  "carillon: a kernel body is called with the number of its block: operator()"
                  "(unsigned)");
    if constexpr (std::is_invocable_v<Body&, unsigned>) {
        static_assert(std::is_void_v<std::invoke_result_t<Body&, unsigned>>,
                      "carillon: a kernel body returns nothing; what a function makes for a block "
                      "is a class with operator()(unsigned)");
    }
}

}  // namespace carillon::detail
