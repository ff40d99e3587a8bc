// SPDX-License-Identifier: Apache-2.0
// How this process sees another process's user.
#pragma once

#include <sys/types.h>

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

}  // namespace carillon::detail
