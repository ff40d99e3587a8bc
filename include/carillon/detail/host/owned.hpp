// SPDX-License-Identifier: Apache-2.0
// Access to the pointer of a movable object, which is empty after a move.
#pragma once

#include "carillon/detail/host/named_checks.hpp"
#include "carillon/detail/wire/language.hpp"

namespace carillon::detail {

[[noreturn]] void throw_moved_from();

// The object at `pointer`, a smart pointer. Throws UsageError if it is empty, after a move.
template <class Pointer>
[[nodiscard]] auto& owned(Pointer const& pointer) {
    if (pointer == nullptr) [[unlikely]]
        throw_moved_from();
    return *pointer;
}
template <class Pointer>  // CARILLON_WITH_CALL
[[nodiscard]] auto& owned(Pointer const& pointer, std::string_view call) {
    return named(
        call, [&]() -> auto& { return owned(pointer); });
}

}  // namespace carillon::detail
