// SPDX-License-Identifier: Apache-2.0
// The place of a call in the program, for errors that name it.
#pragma once

#include "carillon/detail/wire/config.hpp"

namespace carillon::detail {

// The place of a call in the program. As a default argument it is the place of the call that leaves
// it out. The library's own calls name their file themselves: nvcc's default is the path on the
// machine that compiles, which would end up in installed files.
struct CodeLocation {
    char const* file;
    int line;

    // The place of a call in another language.
    [[nodiscard]] static constexpr CodeLocation elsewhere() { return {"", 0}; }
    // The place of the calling expression.
    [[nodiscard]] CARILLON_HD static constexpr CodeLocation current(
        char const* file = __builtin_FILE(), int line = __builtin_LINE()) {
        return {file, line};
    }
};

}  // namespace carillon::detail
