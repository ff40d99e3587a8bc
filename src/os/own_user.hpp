// SPDX-License-Identifier: Apache-2.0
// How this process sees another process's user.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace carillon::detail {

// Throws UsageError for the number in `field` that no user and no group can have: the system's
// calls take it for "no change".
void require_possible_number(std::string_view field, uid_t number);

// Whether the number stands for users, or groups, without a name in this process's user namespace:
// nobody can tell them apart, so it is nobody's own and on no list. If the namespace maps all
// numbers, no number stands for others.
[[nodiscard]] bool is_nameless_user(uid_t user);
[[nodiscard]] bool is_nameless_group(gid_t group);
// Whether `user` is this process's user.
[[nodiscard]] bool is_own_user(uid_t user);
// Whether a part is kept for `user`: the owner's user or root.
[[nodiscard]] inline bool is_kept_for(uid_t user) { return user == 0 || is_own_user(user); }

// How much of what there is other users may have, so that those two find some left.
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
