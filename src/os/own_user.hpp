// SPDX-License-Identifier: Apache-2.0
// Who another process's user is to this one.
#pragma once

#include <sys/types.h>

#include <string_view>

namespace carillon::detail {

// Throws UsageError for the number in `field` that no user and no group can
// have: the system's calls take it for "no change".
void require_possible_number(std::string_view field, uid_t number);

// A number that stands for users, or groups, that this process's user namespace has no names for:
// nobody can say which of them it is, so it is nobody's own and on no list. Where the namespace
// maps all numbers it is one as the others are.
[[nodiscard]] bool is_nameless_user(uid_t user);
[[nodiscard]] bool is_nameless_group(gid_t group);
// Whether that is this process's user.
[[nodiscard]] bool is_own_user(uid_t user);
// The owner's user and root, for whom a part is kept.
[[nodiscard]] inline bool is_kept_for(uid_t user) { return user == 0 || is_own_user(user); }

}  // namespace carillon::detail
