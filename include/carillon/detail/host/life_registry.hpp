// SPDX-License-Identifier: Apache-2.0
// Knows which threads have the places of an object, such as MpmcRing's producers, and which died.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <vector>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/protocol/mpmc_ring_protocol.hpp"

namespace carillon::detail {

// A thread holds a robust mutex while it has a place. If it ends without leaving, the kernel tells
// the next thread that tries the mutex (POSIX, pthread_mutexattr_setrobust).
class LifeRegistry {
   public:
    explicit LifeRegistry(unsigned size);
    ~LifeRegistry();

    // Gives the calling thread a place, as a number that differs each time a place is given out;
    // nothing if all are in use.
    [[nodiscard]] std::optional<unsigned> try_enter();
    // Any thread may call it. Does nothing if the place's thread was found dead, whoever has the
    // place now; otherwise frees the place if `close(index)` returns true.
    void leave(unsigned number, std::function<bool(unsigned)> const& close) noexcept;
    // The index of a place.
    [[nodiscard]] unsigned index(unsigned number) const { return number % size_; }
    [[nodiscard]] unsigned size() const { return size_; }

    // The number under which a thread has the place now; another one, or 0, once that thread was
    // found dead. All accesses are relaxed: `reclaim` documents its order.
    [[nodiscard]] std::atomic<unsigned> const& holder(unsigned number) const;

    // Calls `reclaim` with the places of dead threads, if any, and frees them if it returns true;
    // otherwise the next call finds them again. Returns how many places it freed.
    unsigned recover(std::function<bool(std::vector<unsigned> const&)> const& reclaim);
    // Whether a living thread has a place, for `reclaim`.
    [[nodiscard]] bool in_use(unsigned index) const;

   private:
    struct Members;

    unsigned size_;
    OwnedByProcess<Members> members_;
};

// Every producer has a place and a record while it lives.
class ProducerRegistry : private LifeRegistry {
   public:
    using LifeRegistry::holder;
    using LifeRegistry::index;
    using LifeRegistry::size;
    using LifeRegistry::try_enter;

    // `records` is zeroed memory for `size` records, on the producers' side.
    ProducerRegistry(ProducerRecord* records, unsigned size);

    // See LifeRegistry; it calls reclaim(index) first, like recover().
    void leave(
        unsigned number, std::function<void(unsigned)> const& reclaim = [](unsigned) {}) noexcept;
    [[nodiscard]] ProducerRecord* record(unsigned number) const { return records_ + index(number); }

    // Gives up the claims of dead producers, and returns how many had died. Before that it calls
    // reclaim(index) for each of them, perhaps more than once. Takes a lock.
    unsigned recover(
        MpmcRingView const& view, HostMapped const& far, HostCached const& near,
        std::function<void(unsigned)> const& reclaim = [](unsigned) {});
    // Gives up the producer's current claim, whose lines it could not write.
    void give_up(unsigned number, MpmcRingView const& view, HostMapped const& far) const noexcept;

   private:
    ProducerRecord* records_;
    std::vector<Claim> held_;  // room for give_up_claims
};

}  // namespace carillon::detail
