// SPDX-License-Identifier: Apache-2.0
// Who produces for an MPMC ring, and which of them have died.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "carillon/detail/access/host_cached.hpp"
#include "carillon/detail/access/host_mapped.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/protocol/mpmc_ring.hpp"

namespace carillon::detail {

// Every producer holds a robust mutex for as long as it lives: when its thread ends without having
// let go, the kernel says so to whoever tries the mutex next (POSIX, pthread_mutexattr_setrobust).
class ProducerRegistry {
   public:
    // `records` is zeroed memory for `size` of them, of the producers' side.
    ProducerRegistry(ProducerRecord* records, unsigned size);
    ~ProducerRegistry();
    ProducerRegistry(ProducerRegistry const&) = delete;
    ProducerRegistry& operator=(ProducerRegistry const&) = delete;

    // A record for the calling thread, as a number for those below: another one whenever the record
    // is given out. Nothing when all are in use.
    [[nodiscard]] std::optional<unsigned> try_enter();
    // By whoever: does nothing where its thread was found dead, whoever has the record by now;
    // otherwise calls bury(index) first, as recover() does.
    void leave(
        unsigned number, std::function<void(unsigned)> const& bury = [](unsigned) {}) noexcept;
    // Which of the records it is.
    [[nodiscard]] unsigned index(unsigned number) const { return number % size_; }
    [[nodiscard]] ProducerRecord* record(unsigned number) const { return records_ + index(number); }
    [[nodiscard]] unsigned size() const { return size_; }

    // Gives up the claims of producers that have died, and returns how many had. Before that it
    // calls bury(index) for each of them, perhaps more than once. Takes a lock.
    unsigned recover(
        MpmcRingView const& view, HostMapped const& far, HostCached const& near,
        std::function<void(unsigned)> const& bury = [](unsigned) {});
    // Gives up the claim that the producer is at, which it could not write.
    void give_up(unsigned number, MpmcRingView const& view, HostMapped const& far) const noexcept;

   private:
    struct Members;

    ProcessMark mark_;
    ProducerRecord* records_;
    unsigned size_;
    OwnedByProcess<Members> members_;
};

}  // namespace carillon::detail
