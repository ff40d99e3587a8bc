// SPDX-License-Identifier: Apache-2.0
// The place in the program that calls, for errors that name it.
#pragma once

#include "carillon/detail/wire/config.hpp"

namespace carillon::detail {

// Where in the program a call is made. As a default argument, of the call that leaves it out.
// The library's own calls name their file themselves: nvcc's default is the path on the machine
// that compiles, which would go into what is installed.
struct CodeLocation {
    char const* file;
    int line;

    // Of a call in another language.
    [[nodiscard]] static constexpr CodeLocation elsewhere() { return {"", 0}; }
    // Of the call.
    [[nodiscard]] CARILLON_HD static constexpr CodeLocation current(
        char const* file = __builtin_FILE(), int line = __builtin_LINE()) {
        return {file, line};
    }
};

}  // namespace carillon::detail
