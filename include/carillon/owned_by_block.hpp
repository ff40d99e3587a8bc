// SPDX-License-Identifier: Apache-2.0
// An end in a kernel of several blocks that only one of them uses.
#pragma once

#include <type_traits>

#include "carillon/block.hpp"
#include "carillon/detail/host/taken_once.hpp"
#include "carillon/detail/wire/config.hpp"

namespace carillon {

// Passed to a kernel by value, as the end itself: OwnedByBlock(0, ring.device_handle()). Every
// block has a copy, and one of them can reach the end in it.
template <class End>
class OwnedByBlock {
    static_assert(std::is_trivially_copyable_v<End>);

   public:
    // `block`: the number of the owner in its launch, from 0.
    OwnedByBlock(unsigned block, End const& end) : end_(end), block_(block) {
        detail::mark_as_owned(&end_, sizeof(end_));
    }

    // The end, or nullptr in every other block.
    [[nodiscard]] CARILLON_HD End* get() { return block::index() == block_ ? &end_ : nullptr; }

   private:
    End end_;
    unsigned block_;
};

}  // namespace carillon
