// SPDX-License-Identifier: Apache-2.0
// What a handler says of itself.
#pragma once

#include <cstddef>
#include <type_traits>

#include "carillon/detail/protocol/ring.hpp"
#include "carillon/detail/wire/config.hpp"

namespace carillon {

// The largest handler, and the largest body of a launch, in bytes. Either is a parameter of the
// kernel, and each thread of a GPU has room for a copy.
inline constexpr std::size_t handler_bytes = 4096;

namespace detail {

// A handler that writes outside its reply says so with `static constexpr bool out_of_line = true`.
template <class Handler>
CARILLON_HD constexpr OutOfLine out_of_line_of() {
    if constexpr (requires { Handler::out_of_line; }) {
        return Handler::out_of_line ? OutOfLine::written : OutOfLine::none;
    } else {
        return OutOfLine::none;
    }
}

// A handler that the threads of a block run together says so with `static constexpr unsigned
// threads`: 32 for a warp, at most 1024. Its reply is what it returns to the first of them.
template <class Handler>
CARILLON_HD constexpr unsigned threads_of() {
    if constexpr (requires { Handler::threads; }) {
        static_assert(Handler::threads >= 1 && Handler::threads <= 1024,
                      "carillon: a handler's threads are those of one block: 1 to 1024");
        return Handler::threads;
    } else {
        return 1;
    }
}

// What is passed by value; the texts are what the user sees.
template <class Handler>
CARILLON_HD constexpr bool check_handler_object() {
    static_assert(std::is_trivially_copyable_v<Handler>,
                  "carillon: a handler must be trivially copyable: it is passed to the kernel by "
                  "value");
    static_assert(sizeof(Handler) <= handler_bytes,
                  "carillon: a handler must be at most 4096 bytes: keep more in device memory "
                  "(Device::allocate) that it points at");
    return true;
}

}  // namespace detail

}  // namespace carillon
