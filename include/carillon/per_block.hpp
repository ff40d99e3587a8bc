// SPDX-License-Identifier: Apache-2.0
// Functions that make each block's own handler (PersistentKernel) or body (launch).
#pragma once

#include <concepts>
#include <type_traits>

#include "carillon/detail/wire/config.hpp"

namespace carillon {

// Types that can be a handler for some messages.
template <class T>
concept HandlerLike = requires {
    &T::operator();
}
|| requires { typename T::Commands; }
|| requires {
    typename T::Request;
    typename T::Reply;
};

// Makes the handler of block number `block`, as make(block).
template <class Make, class Handler>
concept MakesHandlers =
    std::invocable<Make&, unsigned> && std::same_as<std::invoke_result_t<Make&, unsigned>, Handler>;

// A handler, which all blocks copy, or a function that makes one for each.
template <class Source, class Handler>
concept HandlerSource = std::convertible_to<Source, Handler> || MakesHandlers<Source, Handler>;

// The type of that handler.
template <class Source>
struct HandlerFrom {
    using Type = Source;
};
template <std::invocable<unsigned> Source>
requires HandlerLike<std::invoke_result_t<Source&, unsigned>>
struct HandlerFrom<Source> {
    using Type = std::invoke_result_t<Source&, unsigned>;
};

// Makes the body of a kernel for block number `block`, as make(block).
template <class Make>
concept MakesBodies = requires(Make& make, unsigned block) {
    make(block)(block);
};

}  // namespace carillon
