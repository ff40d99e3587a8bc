// SPDX-License-Identifier: Apache-2.0
// Checks that name the call which is given, for code that has no doors yet (src/serving, src/bytes,
// c, python). This file, and each line that has CARILLON_WITH_CALL in it, goes with the last of
// those.
#pragma once

#include <string_view>
#include <utility>

#include "carillon/detail/wire/language.hpp"

namespace carillon::detail {

[[noreturn, gnu::cold]] void throw_named(std::string_view call);

template <class Body>
decltype(auto) named(std::string_view call, Body&& body) {
    try {
        return body();
    } catch (...) {
        throw_named(call);
    }
}

}  // namespace carillon::detail

// The function `check`, with a call before its other arguments.
#define CARILLON_WITH_CALL(check)                                                              \
    template <class... Others>                                                                 \
    decltype(auto) check(std::string_view call, Others&&... others) {                          \
        return ::carillon::detail::named(                                                      \
            call, [&]() -> decltype(auto) { return check(std::forward<Others>(others)...); }); \
    }
// The same of a member function.
#define CARILLON_WITH_CALL_CONST(check)                                                        \
    template <class... Others>                                                                 \
    decltype(auto) check(std::string_view call, Others&&... others) const {                    \
        return ::carillon::detail::named(                                                      \
            call, [&]() -> decltype(auto) { return check(std::forward<Others>(others)...); }); \
    }
