// SPDX-License-Identifier: Apache-2.0
// What an object that can be moved keeps by a pointer: none is left in it when it was.
#pragma once

#include "carillon/detail/host/named_checks.hpp"
#include "carillon/detail/wire/language.hpp"

namespace carillon::detail {

[[noreturn]] void throw_moved_from();

// What `pointer`, a smart one, points at. Throws UsageError for none: the object was moved from.
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
