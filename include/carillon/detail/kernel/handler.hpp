// SPDX-License-Identifier: Apache-2.0
// The properties that a handler declares, for the code that calls it.
#pragma once

#include <cstddef>
#include <type_traits>

#include "carillon/detail/kernel/block_state.hpp"  // IWYU pragma: export
#include "carillon/detail/protocol/ring_protocol.hpp"
#include "carillon/detail/wire/config.hpp"

namespace carillon::detail {

// Most bytes of a handler, and of a launch's body. It is a kernel parameter, and each thread of a
// GPU has room for a copy.
inline constexpr std::size_t handler_bytes = 4096;

// Finds a handler's private members too: a second base with the same names makes the handler's
// names ambiguous. For a final class only public members are found.
struct NamesOfHandlers {
    int out_of_line;
    int threads;
    int idle;
};
template <class Handler>
struct NamesOf : NamesOfHandlers {};
template <class Handler>
requires(std::is_class_v<Handler> && !std::is_final_v<Handler>) struct NamesOf<Handler>
    : Handler, NamesOfHandlers {
};
template <class Handler>
concept DeclaresOutOfLine = !requires {
    &NamesOf<Handler>::out_of_line;
}
|| requires { Handler::out_of_line; };
template <class Handler>
concept DeclaresThreads = !requires {
    &NamesOf<Handler>::threads;
}
|| requires { Handler::threads; };
template <class Handler>
concept DeclaresIdle = !requires {
    &NamesOf<Handler>::idle;
}
|| requires { &Handler::idle; };

// A non-static member is not a constant. GCC reports its use in a constant as an error, although it
// should only fail the concept.
template <class Class, class T>
void member_of_each(T Class::*member);
template <class Handler>
concept SaysOutOfLine = !requires {
    member_of_each(&Handler::out_of_line);
}
&&requires { typename std::integral_constant<bool, (Handler::out_of_line ? true : false)>; };
template <class Handler>
concept SaysThreads = !requires {
    member_of_each(&Handler::threads);
}
&&requires { typename std::integral_constant<long long, Handler::threads>; };

// A handler that writes outside its reply declares `static constexpr bool out_of_line = true`.
template <class Handler>
CARILLON_HD constexpr OutOfLine out_of_line_of() {
    if constexpr (SaysOutOfLine<Handler>) {
        return Handler::out_of_line ? OutOfLine::written : OutOfLine::none;
    } else {
        static_assert(
            !DeclaresOutOfLine<Handler>,
            "carillon: a handler's out_of_line must be public and a static constexpr bool");
        return OutOfLine::none;
    }
}

// A handler that several threads of a block run together declares `static constexpr unsigned
// threads`: 32 for a warp, at most 1024. The reply is the first thread's result.
template <class Handler>
CARILLON_HD constexpr unsigned threads_of() {
    if constexpr (SaysThreads<Handler>) {
        static_assert(Handler::threads >= 1 && Handler::threads <= 1024,
                      "carillon: a handler's threads are those of one block: 1 to 1024");
        return Handler::threads;
    } else {
        static_assert(
            !DeclaresThreads<Handler>,
            "carillon: a handler's threads must be public and a static constexpr unsigned");
        return 1;
    }
}

// Checks that the handler's declarations can be used.
template <class Handler>
CARILLON_HD constexpr bool check_handler_names() {
    static_assert(
        HasIdle<Handler> || !DeclaresIdle<Handler>,
        "carillon: a handler's idle() must be public and take no argument but its Shared&");
    (void)threads_of<Handler>();
    (void)out_of_line_of<Handler>();
    return true;
}

// Checks that it can be passed by value; users see the texts.
template <class Handler>
CARILLON_HD constexpr bool check_handler_object() {
    static_assert(
        std::is_trivially_copyable_v<Handler>,
        "carillon: a handler must be trivially copyable: it is passed to the kernel by value");
    static_assert(sizeof(Handler) <= handler_bytes,
                  "carillon: a handler must be at most 4096 bytes: keep the rest in device memory "
                  "(Device::allocate) that it points to");
    static_assert(std::is_copy_constructible_v<Handler>,
                  "carillon: a handler must be copyable: it is passed to the kernel by value");
    return check_handler_names<Handler>();
}

}  // namespace carillon::detail
