// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/device.hpp"
#include "os/own_user.hpp"

namespace carillon::detail {

// How many memories there may be for `places` when one is wanted for a client of `user`. Memory
// that a client has had is that user's alone, since the client may have it mapped still. Where none
// can be freed beside a kernel, as many again are kept for the owner's user and root.
[[nodiscard]] inline std::size_t most_memories(Device const& device, std::uint32_t user,
                                               std::size_t places) {
    constexpr std::size_t of_a_place = 4;
    bool const more = is_kept_for(user) && !device.traits().frees_beside_kernels;
    return (more ? 2 : 1) * of_a_place * places;
}

}  // namespace carillon::detail
