// SPDX-License-Identifier: Apache-2.0
// The word by which one who watches many rings finds those that have news.
#pragma once

#include <concepts>
#include <cstdint>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon::detail {

// What a producer tells beside the lines, through its own far policy: stored after a line, left to
// leave after the line has.
template <class B, class Far>
concept DoorbellThrough = std::copyable<B> &&
    requires(B const& doorbell, Far const& far, Sequence last) {
    doorbell.store(far, last);
    doorbell.commit(far);
};

// A producer without a doorbell: whoever consumes looks at the ring itself.
class NoDoorbell {
   public:
    template <FarAccess Far>
    CARILLON_HD void store(Far const& /*far*/, Sequence /*published*/) const {}
    template <FarAccess Far>
    CARILLON_HD void commit(Far const& /*far*/) const {}
};

// A word beside those of other rings, in the memory of the consumer's side, that tells the last
// sequence number published: one look at many of them finds the rings that have news. No order is
// needed between line and doorbell: who hears it polls the ring until the line is there.
class TailDoorbell {
   public:
    // nullptr: none is rung, as with NoDoorbell, where that is known only at run time.
    CARILLON_HD explicit TailDoorbell(std::uint64_t* word = nullptr) : word_(word) {}

    CARILLON_POLICY_CODE
    template <FarAccess Far>
    CARILLON_HD void store(Far const& far, Sequence published) const {
        if (word_ != nullptr) far.store_word(word_, published);
    }
    // B1, beside P2: without it the doorbell may linger, and nobody looks at the line.
    CARILLON_POLICY_CODE
    template <FarAccess Far>
    CARILLON_HD void commit(Far const& far) const {
        if (word_ != nullptr) far.commit(word_, sizeof(*word_));
    }

   private:
    std::uint64_t* word_;
};

}  // namespace carillon::detail
