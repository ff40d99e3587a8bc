// SPDX-License-Identifier: Apache-2.0
// How many memories an owner keeps for clients of each user, and how it makes one more.
#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/device.hpp"
#include "carillon/error.hpp"
#include "os/descriptor_room.hpp"
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

// Makes one more memory, of `descriptors`, for a client of `user`, beside `there` memories for
// `places`. Where there are too many memories or descriptors, `free_oldest` frees one before.
// Returns what `make` returns, or nullptr where no memory may be made. Throws what `make` throws.
template <class Make, class Free>
[[nodiscard]] auto* make_memory(Device const& device, std::uint32_t user, std::size_t places,
                                std::size_t there, unsigned descriptors, Make const& make,
                                Free const& free_oldest) {
    bool const may_be_more = there < most_memories(device, user, places);
    bool const keeps_all = may_be_more && can_open(descriptors, descriptors_for_gone());
    if (!keeps_all && !free_oldest() &&
        !(may_be_more && can_open(descriptors, descriptors_for(user)))) {
        return static_cast<decltype(&make())>(nullptr);
    }
    for (;;) {
        try {
            return &make();
        } catch (SystemError const& error) {
            if (!none_left(error.code()) || !free_oldest()) throw;
        } catch (OutOfMemoryError const&) {
            if (!free_oldest()) throw;
        }
    }
}

}  // namespace carillon::detail
