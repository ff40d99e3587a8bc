// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "carillon/detail/wire/line.hpp"

namespace carillon {

namespace detail {

// Another number for every channel and every client of this process: whose a ticket is.
[[nodiscard]] inline std::uint64_t new_ticket_issuer() {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace detail

// Names a request that was submitted, for whoever waits for its reply: at the channel that gave it,
// once. No two are the same.
class Ticket {
   public:
    Ticket(std::uint64_t issuer, Sequence sequence) : issuer_(issuer), sequence_(sequence) {}
    [[nodiscard]] std::uint64_t issuer() const { return issuer_; }
    [[nodiscard]] Sequence sequence() const { return sequence_; }
    bool operator==(Ticket const&) const = default;

   private:
    std::uint64_t issuer_;
    Sequence sequence_;
};

}  // namespace carillon
