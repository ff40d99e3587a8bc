// SPDX-License-Identifier: Apache-2.0
// `Ticket` and `Tickets`, from `Client::submit`: name requests whose replies are taken later.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "carillon/error.hpp"

namespace carillon {

namespace detail {
// Returns a new number for a client of this process, which its tickets carry. No two are equal.
[[nodiscard]] inline std::uint64_t new_ticket_issuer() {
    static std::atomic<std::uint64_t> last{0};
    // Relaxed: the numbers must only differ; they publish nothing.
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}
}  // namespace detail

// Names a submitted request. Its reply can be taken once, from the client that made the ticket. No
// two tickets are equal. A dropped ticket occupies its place in the client forever: take, wait for
// or abandon each.
class [[nodiscard]] Ticket {
   public:
    Ticket() = default;  // names no request
    // `number` counts the requests of client `issuer`. `slot` is the place of the request's state
    // in the client, if the number does not tell it.
    Ticket(std::uint64_t issuer, std::uint64_t number, std::uint32_t slot = 0)
        : issuer_(issuer), number_(number), slot_(slot) {}
    [[nodiscard]] std::uint64_t issuer() const { return issuer_; }
    [[nodiscard]] std::uint64_t number() const { return number_; }
    [[nodiscard]] std::uint32_t slot() const { return slot_; }
    bool operator==(Ticket const&) const = default;

   private:
    std::uint64_t issuer_ = 0;
    std::uint64_t number_ = 0;
    std::uint32_t slot_ = 0;
};

// The ticket of a command, which knows the type of the reply.
template <class Command>
class [[nodiscard]] CommandTicket : public Ticket {
   public:
    CommandTicket() = default;  // names no request
    explicit CommandTicket(Ticket const& ticket) : Ticket(ticket) {}
    // The reply to another command has another type.
    template <class Other>
    requires(!std::same_as<Other, Command>) explicit CommandTicket(CommandTicket<Other> const&) =
        delete;
};

// Names requests that a client sent in a row (`Client::submit_n`). Its elements are tickets.
class [[nodiscard]] Tickets {
   public:
    Tickets() = default;  // names no requests
    // For `count` requests of client `issuer`, from the number `first` on.
    Tickets(std::uint64_t issuer, std::uint64_t first, std::size_t count)
        : issuer_(issuer), first_(first), count_(count) {}
    [[nodiscard]] std::size_t size() const { return count_; }
    [[nodiscard]] bool empty() const { return count_ == 0; }
    // Returns the ticket of one request. Throws UsageError for an index that is too large.
    [[nodiscard]] Ticket operator[](std::size_t index) const {
        if (index >= count_)
            throw UsageError("Tickets::operator[]", "the index is beyond the last ticket");
        return {issuer_, first_ + index};
    }
    // Returns the tickets behind the first `count`; none if there are no more.
    [[nodiscard]] Tickets after(std::size_t count) const {
        std::size_t const gone = count < count_ ? count : count_;
        return {issuer_, first_ + gone, count_ - gone};
    }
    // Appends tickets of requests that were sent right after these. Throws UsageError for others.
    void append(Tickets const& more) {
        if (more.count_ == 0) return;
        if (count_ == 0) {
            *this = more;
            return;
        }
        if (more.issuer_ != issuer_ || more.first_ != first_ + count_) {
            throw UsageError("Tickets::append", "the requests were not sent right after these");
        }
        count_ += more.count_;
    }
    bool operator==(Tickets const&) const = default;

   private:
    std::uint64_t issuer_ = 0;
    std::uint64_t first_ = 0;
    std::size_t count_ = 0;
};

}  // namespace carillon
