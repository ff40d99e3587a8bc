// SPDX-License-Identifier: Apache-2.0
// The producers of an MPMC ring, and their deaths.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/host/life_registry.hpp"
#include "carillon/detail/protocol/mpmc_ring_protocol.hpp"

namespace carillon::detail {

// Every producer has a place, and a record, for as long as it lives.
class ProducerRegistry {
   public:
    // `records` is zeroed memory for `size` records, on the producers' side.
    ProducerRegistry(ProducerRecord* records, unsigned size);

    // See LifeRegistry; leave() calls bury(index) first, like recover().
    [[nodiscard]] std::optional<unsigned> try_enter() { return lives_.try_enter(); }
    void leave(
        unsigned number, std::function<void(unsigned)> const& bury = [](unsigned) {}) noexcept;
    // The index of the record.
    [[nodiscard]] unsigned index(unsigned number) const { return lives_.index(number); }
    [[nodiscard]] ProducerRecord* record(unsigned number) const { return records_ + index(number); }
    [[nodiscard]] unsigned size() const { return lives_.size(); }
    // See LifeRegistry.
    [[nodiscard]] std::atomic<unsigned> const& holder(unsigned number) const {
        return lives_.holder(number);
    }

    // Gives up the claims of dead producers, and returns how many had died. Before that it calls
    // bury(index) for each of them, perhaps more than once. Takes a lock.
    unsigned recover(
        MpmcRingView const& view, HostMapped const& far, HostCached const& near,
        std::function<void(unsigned)> const& bury = [](unsigned) {});
    // Gives up the producer's current claim, which it could not write.
    void give_up(unsigned number, MpmcRingView const& view, HostMapped const& far) const noexcept;

   private:
    ProducerRecord* records_;
    LifeRegistry lives_;
    std::vector<Claim> held_;  // room for give_up_claims
};

}  // namespace carillon::detail
