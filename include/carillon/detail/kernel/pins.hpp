// SPDX-License-Identifier: Apache-2.0
// Runs blocks on chosen SMs, for placed kernels. CUDA does not let a program choose a block's SM,
// so more blocks are launched than have work. A block on a wanted SM claims the role that wants it;
// the others return once every role is taken. A role for which no block came goes to any block that
// has waited long enough, so exactly one block takes each role.
#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/detail/access/device_near_far.hpp"

namespace carillon::detail {

// The roles, for the blocks. Trivially copyable.
class PinTable {
   public:
    static constexpr std::uint32_t no_role = 0xffffffff;
    static constexpr std::uint32_t anywhere = 0xffffffff;  // for a role that may run on any SM

    PinTable() = default;  // no pins: role i belongs to block i
    PinTable(std::uint64_t* words, std::uint32_t roles) : words_(words), roles_(roles) {}

    // Returns the role of the calling block, or no_role if the block must return. One thread of
    // each block calls it, once.
    CARILLON_POLICY_CODE
    CARILLON_HD std::uint32_t claim(unsigned block) const {
        if (words_ == nullptr) return block;
        std::uint32_t role = claim_one_for(DeviceClock::sm());
        if (role == no_role) role = claim_one_for(anywhere);
        return role != no_role ? role : claim_one_left();
    }

    // The number of words of zeroed device memory for `roles` roles: a count of taken roles, and
    // for each role whether it is taken and the SM that it wants.
    [[nodiscard]] static constexpr std::size_t words_for(std::size_t roles) {
        return 1 + 2 * roles;
    }
    [[nodiscard]] CARILLON_HD static constexpr std::uint32_t wanted_at(std::uint32_t role) {
        return 2 + 2 * role;
    }

   private:
    // How long an unwanted block waits for wanted blocks, which start microseconds apart.
    static constexpr std::uint64_t patience_ns = 1'000'000;

    CARILLON_POLICY_CODE
    CARILLON_HD std::uint32_t claim_one_for(std::uint32_t sm) const {
        for (std::uint32_t role = 0; role < roles_; ++role) {
            if (near_load(wanted_at(role)) == sm && try_claim(role)) return role;
        }
        return no_role;
    }

    CARILLON_POLICY_CODE
    CARILLON_HD std::uint32_t claim_one_left() const {
        DeviceClock const clock;
        std::uint64_t const began = clock.now_ns();
        std::uint32_t polls = 0;
        while (near_load(0) < roles_) {
            clock.idle(++polls);
            if (clock.now_ns() - began < patience_ns) continue;
            for (std::uint32_t role = 0; role < roles_; ++role) {
                if (try_claim(role)) return role;
            }
            break;
        }
        return no_role;
    }

    // Needs no order: a block with a role reads nothing that another block wrote.
    CARILLON_POLICY_CODE
    CARILLON_HD bool try_claim(std::uint32_t role) const {
        DeviceNear const near;
        std::uint64_t* const taken = words_ + wanted_at(role) - 1;
        if (near.load_word(taken) != 0 || near.compare_exchange(taken, 0, 1) != 0) return false;
        (void)near.fetch_add(words_, 1);
        return true;
    }

    CARILLON_POLICY_CODE
    [[nodiscard]] CARILLON_HD std::uint64_t near_load(std::uint32_t word) const {
        return DeviceNear().load_word(words_ + word);
    }

    std::uint64_t* words_ = nullptr;
    std::uint32_t roles_ = 0;
};

// Runs `body` once for each role, as body(role) instead of body(block). Blocks have one thread.
template <class Body>
struct PinnedBody {
    PinTable pins;
    Body body;

    CARILLON_POLICY_CODE
    CARILLON_HD void operator()(unsigned block) {
        detail::check_device_call<void, std::uint32_t>(body);
        std::uint32_t const role = pins.claim(block);
        if (role != PinTable::no_role) body(role);
    }
};

}  // namespace carillon::detail
