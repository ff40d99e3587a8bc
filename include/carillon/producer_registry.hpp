// SPDX-License-Identifier: Apache-2.0
// Who produces for a shared ring, and which of them have died.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "carillon/access/host_cached.hpp"
#include "carillon/access/host_mapped.hpp"
#include "carillon/core/shared_ring.hpp"

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

    // A record for the calling thread, as a number for the two below: another one whenever the
    // record is given out. Throws UsageError when all are in use.
    [[nodiscard]] unsigned enter(std::string_view call);
    // By whoever: does nothing where its thread was found dead, whoever has the record by now.
    void leave(unsigned number) noexcept;
    [[nodiscard]] ProducerRecord* record(unsigned number) const {
        return records_ + number % size_;
    }

    // Gives up the claims of producers that have died, and returns how many had. Takes a lock.
    unsigned recover(SharedRingView const& view, HostMapped const& far, HostCached const& near);

   private:
    struct Members;

    ProducerRecord* records_;
    unsigned size_;
    std::unique_ptr<Members> members_;
};

}  // namespace carillon::detail
