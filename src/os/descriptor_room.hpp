// SPDX-License-Identifier: Apache-2.0
// How many descriptors others may make this process open. What is opened gets the lowest number
// that is free: a number tells how many are open, whatever they are and whoever has opened them.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace carillon::detail {

// How many this process may have (RLIMIT_NOFILE).
[[nodiscard]] std::size_t limit_of_descriptors() noexcept;
// Those that are open for a user have numbers below this: a quarter of the limit is kept for the
// owner's user and root, and half of that for connections of theirs alone.
[[nodiscard]] std::size_t descriptors_for(uid_t user) noexcept;
// Below this, memory is kept for users that have gone.
[[nodiscard]] std::size_t descriptors_for_gone() noexcept;
// Whether `count` more can be opened, all with numbers below `end`.
[[nodiscard]] bool can_open(unsigned count, std::size_t end);
// Why `user` gets no more of them. `whose`: for whom the others are kept.
[[nodiscard]] std::string why_no_descriptor(uid_t user, std::string_view whose);
// Whether a system call failed because no descriptor, or no memory, is left.
[[nodiscard]] bool none_left(int error) noexcept;

}  // namespace carillon::detail
