// SPDX-License-Identifier: Apache-2.0
// A client by bytes, as Python has it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bindings.hpp"
#include "busy.hpp"
#include "carillon/bytes.hpp"
#include "carillon/error.hpp"
#include "codec.hpp"
#include "errors.hpp"
#include "held_bytes.hpp"

namespace carillon::python {

using BytesClient = Channel<Bytes, Bytes>;

// A client, and the requests for which nobody waits any more and of which it was not told yet.
class ClientState {
   public:
    explicit ClientState(std::unique_ptr<BytesClient> client)
        : own_(std::move(client)), client_(own_.get()) {}
    explicit ClientState(BytesClient& of_kernel) : client_(&of_kernel) {}

    // Throws UsageError once the kernel whose client it is was closed.
    [[nodiscard]] BytesClient& client() const {
        if (client_ == nullptr) throw UsageError("the kernel was closed");
        return *client_;
    }
    void close() { client_ = nullptr; }
    [[nodiscard]] Busy& busy() { return busy_; }
    // Call it within a call: nobody waits for this reply, if one is outstanding; nor for earlier
    // ones.
    void drop(Ticket const& ticket) noexcept;
    void drop_given_up() noexcept;
    // Any thread may give a ticket up: if another one is in a call, the next call does it.
    void give_up(Ticket const& ticket);

   private:
    std::unique_ptr<BytesClient> own_;
    BytesClient* client_;
    std::vector<Ticket> given_up_;
    Busy busy_;
};

// A ticket, as Python has it. If nobody has taken the reply when the ticket goes, the reply is
// given up: its slot is free again.
class OneTicket {
   public:
    OneTicket(Ticket const& ticket, std::weak_ptr<ClientState> client)
        : ticket_(ticket), client_(std::move(client)) {}
    OneTicket(OneTicket&&) noexcept = default;  // nobody waits for what it was moved from
    OneTicket& operator=(OneTicket&&) = delete;
    OneTicket(OneTicket const&) = delete;
    OneTicket& operator=(OneTicket const&) = delete;
    ~OneTicket();

    [[nodiscard]] Ticket const& ticket() const { return ticket_; }
    // Its reply was taken, or given up.
    void done() { client_.reset(); }

   private:
    Ticket ticket_;
    std::weak_ptr<ClientState> client_;
};

// Tickets of one row, as Python has them. When they go, replies that nobody has taken are given up,
// unless somebody has their ticket by itself.
class TicketRow {
   public:
    TicketRow(Tickets const& tickets, std::weak_ptr<ClientState> client)
        : left_(tickets), client_(std::move(client)) {}
    TicketRow(TicketRow const&) = delete;
    TicketRow& operator=(TicketRow const&) = delete;
    ~TicketRow();

    [[nodiscard]] Tickets const& left() const { return left_; }
    // A ticket of those that are left. Throws UsageError if it does not exist.
    [[nodiscard]] std::shared_ptr<OneTicket> at(std::size_t index);
    // `take` takes replies, and removes their tickets. Returns what it returns.
    template <class Take>
    std::size_t take(Take const& take) {
        std::size_t const had = left_.size();
        try {
            (void)take(left_);
        } catch (Error const&) {  // the replies taken before it go first
            if (left_.size() == had) throw;
        }
        forget_taken();
        return had - left_.size();
    }

   private:
    void forget_taken();

    Tickets left_;
    std::map<std::uint64_t, std::shared_ptr<OneTicket>> named_;  // by themselves, by number
    std::weak_ptr<ClientState> client_;
};

// Timeouts are in seconds.
class ClientEnd {
   public:
    explicit ClientEnd(std::shared_ptr<ClientState> state) : state_(std::move(state)) {}

    [[nodiscard]] nb::bytes call(nb::handle request, double timeout);
    // Calls with values of the two message types.
    [[nodiscard]] nb::object call_as(Codec const& asks, Codec const& answers, nb::handle request,
                                     double timeout);
    // Sends all `requests` and takes their replies, in their order, as room and replies come.
    void call_many(nb::handle requests, nb::handle replies, double timeout);
    [[nodiscard]] OneTicket submit(nb::handle request, double timeout);
    [[nodiscard]] std::optional<OneTicket> try_submit(nb::handle request);
    [[nodiscard]] std::shared_ptr<TicketRow> try_submit_n(nb::handle requests);
    [[nodiscard]] nb::bytes wait(OneTicket& ticket, double timeout);
    [[nodiscard]] nb::object try_take(OneTicket& ticket);  // None while it has not come
    [[nodiscard]] std::size_t try_take_n(TicketRow& tickets, nb::handle replies);
    void abandon(OneTicket& ticket);
    // Gives up a ticket that may be good for nothing, even while another thread is in a call.
    void give_up(OneTicket& ticket);
    void warm();
    // How long each of `count` calls takes in C++, in ns: for python/bench/measure.py.
    [[nodiscard]] std::vector<std::int64_t> time_calls(nb::handle request, std::size_t count);
    // How long each of `count` rows takes: all `requests`, sent in rows as call_many() does.
    [[nodiscard]] std::vector<std::int64_t> time_rows(nb::handle requests, nb::handle replies,
                                                      std::size_t count);
    [[nodiscard]] BytesClient const& client() const { return state_->client(); }

   private:
    template <class Use>
    auto within(Use const& use);
    // See wait_in_parts(): it also frees the slots of what other threads give up meanwhile.
    template <class Wait>
    void wait_for(std::chrono::nanoseconds timeout, std::chrono::nanoseconds given,
                  Wait const& wait);
    void ask(BytesClient& client, std::span<std::byte const> request, std::span<std::byte> reply,
             std::chrono::nanoseconds timeout);
    void exchange(BytesClient& client, HeldBytes const& requests, HeldBytes const& replies,
                  Tickets& outstanding, std::chrono::nanoseconds timeout);

    std::shared_ptr<ClientState> state_;
};

}  // namespace carillon::python
