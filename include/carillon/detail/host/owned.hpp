// SPDX-License-Identifier: Apache-2.0
// What an object that can be moved keeps by a pointer: none is left in it when it was.
#pragma once

#include <string_view>

#include "carillon/detail/wire/language.hpp"

namespace carillon::detail {

[[noreturn]] void throw_moved_from(std::string_view call);

// What `pointer`, a smart one, points at. Throws UsageError, in the name of `call`, for none: the
// object was moved from.
template <class Pointer>
[[nodiscard]] auto& owned(Pointer const& pointer, std::string_view call) {
    if (pointer == nullptr) [[unlikely]]
        throw_moved_from(call);
    return *pointer;
}

}  // namespace carillon::detail
