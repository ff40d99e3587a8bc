// SPDX-License-Identifier: Apache-2.0
// Limits the descriptors that others may make this process open. A new descriptor gets the lowest
// free number, so a number tells how many are open, whoever has opened them.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace carillon::detail {

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

}  // namespace carillon::detail
