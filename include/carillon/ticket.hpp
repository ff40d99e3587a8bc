// SPDX-License-Identifier: Apache-2.0
// What names requests whose replies are taken later.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "carillon/error.hpp"

namespace carillon {

// Names a request that was submitted, for whoever waits for its reply: at the client that gave it,
// once. No two are the same. A ticket that is dropped keeps its place at the client for good: take,
// wait for or abandon each.
class [[nodiscard]] Ticket {
   public:
    Ticket() = default;  // of no request
    // `number` counts the requests of client `issuer`; `slot` is where it keeps what it knows of
    // this one, if the number does not say that.
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

// The ticket of a command: it knows of which type the reply is.
template <class Command>
class [[nodiscard]] CommandTicket : public Ticket {
   public:
    CommandTicket() = default;  // of no request
    explicit CommandTicket(Ticket const& ticket) : Ticket(ticket) {}
    // The reply to another command has another type.
    template <class Other>
    requires(!std::same_as<Other, Command>) explicit CommandTicket(CommandTicket<Other> const&) =
        delete;
};

// Names requests that a channel's client sent one after the other (Client::submit_n): as good as
// the Ticket of each.
class [[nodiscard]] Tickets {
   public:
    Tickets() = default;  // of no requests
    // Of `count` requests of client `issuer`, the first of which has the number `first`.
    Tickets(std::uint64_t issuer, std::uint64_t first, std::size_t count)
        : issuer_(issuer), first_(first), count_(count) {}
    [[nodiscard]] std::size_t size() const { return count_; }
    [[nodiscard]] bool empty() const { return count_ == 0; }
    // That of one of them. Throws UsageError for one that is not.
    [[nodiscard]] Ticket operator[](std::size_t index) const {
        if (index >= count_) throw UsageError("Tickets::operator[]", "there are not so many");
        return {issuer_, first_ + index};
    }
    // Those behind the first `count`; none where there are no more.
    [[nodiscard]] Tickets after(std::size_t count) const {
        std::size_t const gone = count < count_ ? count : count_;
        return {issuer_, first_ + gone, count_ - gone};
    }
    // Adds those of requests that were sent right after these. Throws UsageError for others.
    void append(Tickets const& more) {
        if (more.count_ == 0) return;
        if (count_ == 0) {
            *this = more;
            return;
        }
        if (more.issuer_ != issuer_ || more.first_ != first_ + count_) {
            throw UsageError("Tickets::append", "their requests were not sent right after these");
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
