// SPDX-License-Identifier: Apache-2.0
// `OwnedByBlock`, for kernels of several blocks: an end that only one of the blocks uses.
#pragma once

#include <cstdint>
#include <type_traits>

#include "carillon/block.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/ends_of_blocks.hpp"
#include "carillon/detail/wire/config.hpp"

namespace carillon {

// Pass it to a kernel by value, like an end: OwnedByBlock(0, ring.device_handle()). Every block has
// a copy, but only the owner can get the end.
template <class End>
class OwnedByBlock {
    static_assert(std::is_trivially_copyable_v<End>,
                  "carillon: a block owns a device's end (device_handle()) or another trivially "
                  "copyable type");

   public:
    // `block` is the owner's number in its launch, from 0. Throws UsageError if the end has an
    // owner.
    OwnedByBlock(unsigned block, End const& end) try
        : end_(end), owner_(detail::mark_as_owned(&end_, sizeof(end_), block)) {
    } catch (...) {
        detail::throw_named("OwnedByBlock");
    }

    // Returns the end, or nullptr in every other block.
    [[nodiscard]] CARILLON_HD End* get() {
        return block::index() == static_cast<unsigned>(owner_) ? &end_ : nullptr;
    }

   private:
    End end_;
    std::uint64_t owner_;
};

}  // namespace carillon
