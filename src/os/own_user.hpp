// SPDX-License-Identifier: Apache-2.0
// How this process sees another process's user: who he is, what share he may have, and the
// descriptors that it may open for him. A new descriptor gets the lowest free number, so a number
// tells how many are open.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <string>
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

// The number of descriptors that this process may have (RLIMIT_NOFILE).
[[nodiscard]] std::size_t limit_of_descriptors() noexcept;
// Descriptors opened for a user have numbers below this: a quarter of the limit is reserved for the
// owner's user and root, and half of that for their connections alone.
[[nodiscard]] std::size_t descriptors_for(uid_t user) noexcept;
// Below this number memory is kept for users that have gone.
[[nodiscard]] std::size_t descriptors_for_gone() noexcept;
// Whether `count` more can be opened, all with numbers below `end`.
[[nodiscard]] bool can_open(unsigned count, std::size_t end);
// Why `user` gets no more descriptors. `whose` names those for whom the others are reserved.
[[nodiscard]] std::string why_no_descriptor(uid_t user, std::string_view whose);
// Whether a system call failed because no descriptor, or no memory, is left.
[[nodiscard]] bool none_left(int error) noexcept;

// How much of what there is other users may have, so that the owner's user and root find some left.
struct UserShare {
    std::size_t of_user;    // each of the others
    std::size_t of_others;  // all of them together
};

// A quarter is kept, but for what `per_user` allows one user; if that is 0,
// one user may have half, and one at least.
[[nodiscard]] inline UserShare share_of(std::size_t there, std::size_t per_user = 0) {
    std::size_t const said = std::min(per_user, there);
    return {said != 0 ? said : std::max<std::size_t>(there / 2, 1),
            std::max(there - there / 4, said)};
}

}  // namespace carillon::detail
