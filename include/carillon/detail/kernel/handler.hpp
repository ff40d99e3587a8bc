// SPDX-License-Identifier: Apache-2.0
// What a handler says of itself.
#pragma once

#include "carillon/detail/protocol/ring.hpp"
#include "carillon/detail/wire/config.hpp"

namespace carillon::detail {

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

}  // namespace carillon::detail
