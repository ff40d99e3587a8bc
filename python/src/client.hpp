// SPDX-License-Identifier: Apache-2.0
// A client by bytes, as Python has it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bindings.hpp"
#include "busy.hpp"
#include "bytes.hpp"
#include "carillon/bytes.hpp"
#include "carillon/error.hpp"
#include "codec.hpp"

namespace carillon::python {

// A client, and which requests nobody waits for any more that it was not told of yet.
class ClientState {
   public:
    explicit ClientState(BytesClient&& client) : own_(std::move(client)), client_(&*own_) {}
    explicit ClientState(BytesClient& of_kernel) : client_(&of_kernel) {}

    // Throws UsageError once the kernel whose client it is was closed.
    [[nodiscard]] BytesClient& client() const {
        if (client_ == nullptr) throw UsageError("Client", "the kernel was closed");
        return *client_;
    }
    void close() { client_ = nullptr; }
    [[nodiscard]] Busy& busy() { return busy_; }
    // Within a call: nobody waits for this reply, if one is outstanding; nor for those of before.
    void drop(Ticket const& ticket) noexcept;
    void drop_given_up() noexcept;
    // The same of any thread: where another one is in a call, with the next call.
    void give_up(Ticket const& ticket);

   private:
    std::optional<BytesClient> own_;
    BytesClient* client_;
    std::vector<Ticket> given_up_;
    Busy busy_;
};

// Timeouts are in seconds.
class ClientEnd {
   public:
    explicit ClientEnd(std::shared_ptr<ClientState> state) : state_(std::move(state)) {}

    [[nodiscard]] nb::bytes call(nb::handle request, double timeout);
    // The same of values of the two message types.
    [[nodiscard]] nb::object call_as(Codec const& asks, Codec const& answers, nb::handle request,
                                     double timeout);
    // Sends all `requests` and takes their replies, in their order, as room and replies come.
    void call_many(nb::handle requests, nb::handle replies, double timeout);
    [[nodiscard]] Ticket submit(nb::handle request, double timeout);
    [[nodiscard]] std::optional<Ticket> try_submit(nb::handle request);
    [[nodiscard]] Tickets try_submit_n(nb::handle requests);
    [[nodiscard]] nb::bytes wait(Ticket const& ticket, double timeout);
    [[nodiscard]] nb::object try_take(Ticket const& ticket);  // None while it has not come
    [[nodiscard]] std::size_t try_take_n(Tickets& tickets, nb::handle replies);
    void abandon(Ticket const& ticket);
    // The same of a ticket that may be good for nothing, and while another thread is in a call.
    void give_up(Ticket const& ticket) { state_->give_up(ticket); }
    void warm();
    // How long each of `count` calls takes in C++, in ns: for python/bench/measure.py.
    [[nodiscard]] std::vector<std::int64_t> time_calls(nb::handle request, std::size_t count);
    // The same for all of `requests`, sent in rows as call_many() does, `count` times.
    [[nodiscard]] std::vector<std::int64_t> time_rows(nb::handle requests, nb::handle replies,
                                                      std::size_t count);
    [[nodiscard]] BytesClient const& client() const { return state_->client(); }

   private:
    template <class Use>
    auto within(char const* call, Use const& use);
    void ask(BytesClient& client, std::span<std::byte const> request, std::span<std::byte> reply,
             std::chrono::nanoseconds timeout);
    void exchange(BytesClient& client, HeldBytes const& requests, HeldBytes const& replies,
                  Tickets& outstanding, std::chrono::nanoseconds timeout);

    std::shared_ptr<ClientState> state_;
};

}  // namespace carillon::python
