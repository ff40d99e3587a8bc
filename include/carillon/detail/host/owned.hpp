// SPDX-License-Identifier: Apache-2.0
// Checked access to the pointer in a movable object, which is empty after a move.
#pragma once

#include <functional>
#include <string_view>
#include <utility>

#include "carillon/detail/host/door.hpp"  // IWYU pragma: export

namespace carillon::detail {

[[noreturn]] void throw_moved_from();

// Returns the object at `pointer`, a smart pointer. Throws UsageError if it is empty, after a move.
template <class Pointer>
[[nodiscard]] auto& owned(Pointer const& pointer) {
    if (pointer == nullptr) [[unlikely]]
        throw_moved_from();
    return *pointer;
}

// Also checks that this is the object's own process; the object has require_own().
template <class Pointer>
[[nodiscard]] auto& owned_here(Pointer const& pointer) {
    auto& object = owned(pointer);
    object.require_own();
    return object;
}

// The door of a call to owned_here(pointer): calls `body`, a member function or another function,
// with that object and `arguments`, and returns its result.
template <class Pointer, class Body, class... Arguments>
decltype(auto) in_call_to(std::string_view call, Pointer const& pointer, Body&& body,
                          Arguments&&... arguments) {
    return in_call(call, [&]() -> decltype(auto) {
        return std::invoke(std::forward<Body>(body), owned_here(pointer),
                           std::forward<Arguments>(arguments)...);
    });
}

}  // namespace carillon::detail
