// SPDX-License-Identifier: Apache-2.0
// How much of what there is other users may have, so that the owner's user and root find some left.
#pragma once

#include <algorithm>
#include <cstddef>

#include "os/own_user.hpp"  // is_kept_for

namespace carillon::detail {

struct UserShare {
    std::size_t of_user;    // each of the others
    std::size_t of_others;  // all of them together
};

// A quarter is kept, but for what `per_user` allows one user; 0: it says nothing, and one user may
// have `by_default`.
[[nodiscard]] inline UserShare share_of(std::size_t there, std::size_t per_user,
                                        std::size_t by_default) {
    std::size_t const of_user = std::min(per_user != 0 ? per_user : by_default, there);
    return {of_user, std::max(there - there / 4, per_user != 0 ? of_user : 0)};
}

// Half of it, and one at least.
[[nodiscard]] inline std::size_t half_of(std::size_t there) {
    return std::max<std::size_t>(there / 2, 1);
}

}  // namespace carillon::detail
