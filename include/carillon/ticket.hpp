// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace carillon {

namespace detail {

// Another number for every client of this process: whose a ticket is.
[[nodiscard]] inline std::uint64_t new_ticket_issuer() {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace detail

// Names a request that was submitted, for whoever waits for its reply: at the client that gave it,
// once. No two are the same.
class Ticket {
   public:
    // `number` counts the requests of client `issuer`; `slot` is where it keeps what it knows of
    // this one, if the number does not say that.
    Ticket(std::uint64_t issuer, std::uint64_t number, std::uint32_t slot = 0)
        : issuer_(issuer), number_(number), slot_(slot) {}
    [[nodiscard]] std::uint64_t issuer() const { return issuer_; }
    [[nodiscard]] std::uint64_t number() const { return number_; }
    [[nodiscard]] std::uint32_t slot() const { return slot_; }
    bool operator==(Ticket const&) const = default;

   private:
    std::uint64_t issuer_;
    std::uint64_t number_;
    std::uint32_t slot_;
};

// The ticket of a command: it knows of which type the reply is.
template <class Command>
class CommandTicket : public Ticket {
   public:
    explicit CommandTicket(Ticket const& ticket) : Ticket(ticket) {}
};

}  // namespace carillon
