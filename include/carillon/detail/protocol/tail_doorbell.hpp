// SPDX-License-Identifier: Apache-2.0
// A word by which a watcher of many rings finds those that have news.
#pragma once

#include <concepts>
#include <cstdint>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/detail/wire/line.hpp"

CARILLON_BEGIN_POLICY_CODE
namespace carillon::detail {

// A producer's word beside the lines, through its own far policy: stored after a line; it leaves
// after the line has.
template <class B, class Far>
concept DoorbellThrough = std::copyable<B> &&
    requires(B const& doorbell, Far const& far, Sequence last) {
    doorbell.store(far, last);
    doorbell.commit(far);
};

// A producer without a doorbell: the consumer looks at the ring itself.
class NoDoorbell {
   public:
    template <FarAccess Far>
    CARILLON_HD void store(Far const& /*far*/, Sequence /*published*/) const {}
    template <FarAccess Far>
    CARILLON_HD void commit(Far const& /*far*/) const {}
};

// A word beside those of other rings, in the memory of the consumer's side, with the last sequence
// number published: one look at many of them finds the rings that have news. Line and doorbell need
// no order: the consumer that hears it polls the ring until the line is there.
class TailDoorbell {
   public:
    // With nullptr nothing is rung, like NoDoorbell, decided at run time.
    CARILLON_HD explicit TailDoorbell(std::uint64_t* word = nullptr) : word_(word) {}
    template <FarAccess Far>
    CARILLON_HD void store(Far const& far, Sequence published) const {
        if (word_ != nullptr) far.store_word(word_, published);
    }
    // B1, beside P2: otherwise the doorbell may linger, and nobody looks at the line.
    template <FarAccess Far>
    CARILLON_HD void commit(Far const& far) const {
        if (word_ != nullptr) far.commit(word_, sizeof(*word_));
    }

   private:
    std::uint64_t* word_;
};

}  // namespace carillon::detail
CARILLON_END_POLICY_CODE
