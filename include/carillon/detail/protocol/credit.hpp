// SPDX-License-Identifier: Apache-2.0
// How lanes that take lines together return credit: one lane stores the word for all.
#pragma once

#include <cstdint>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/detail/wire/line.hpp"

CARILLON_BEGIN_POLICY_CODE
namespace carillon::detail {

// The lanes meet first (W1, for C2 and S2): otherwise the word could leave ahead of another lane's
// loads of a slot that it covers. The word leaves now (H2): a producer may wait for it. Both
// policies are passed by value: GCC 12 takes a reference to one without members for an object that
// is not initialized.
template <FarAccess Far, VotingGroup Lanes>
CARILLON_HD void return_credit(Far far, Lanes lanes, std::uint64_t* credit, Sequence taken) {
    lanes.sync();
    if (!is_leader(lanes)) return;
    far.store_word(credit, taken);
    far.commit(credit, sizeof(*credit));
}

}  // namespace carillon::detail
CARILLON_END_POLICY_CODE
