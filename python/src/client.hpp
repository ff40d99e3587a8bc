// SPDX-License-Identifier: Apache-2.0
// A client by bytes, as Python has it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "bindings.hpp"
#include "bytes.hpp"
#include "carillon/bytes.hpp"
#include "carillon/error.hpp"

namespace carillon::python {

// What is known of a client beside it: which requests nobody waits for any more, and whether a
// thread is in one of its calls.
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
    // Drops the replies, of those that have come, that nobody waits for.
    void drop_abandoned();
    void abandon(Ticket const& ticket) { abandoned_.push_back(ticket); }

   private:
    friend class InClient;
    std::optional<BytesClient> own_;
    BytesClient* client_;
    std::vector<Ticket> abandoned_;
    bool busy_ = false;
};

// A thread is in a call. Throws UsageError where another one is: what they do at the same time
// would be lost. Made and destroyed with the GIL.
class InClient {
   public:
    InClient(ClientState& state, char const* call);
    InClient(InClient const&) = delete;
    InClient& operator=(InClient const&) = delete;
    ~InClient() { state_.busy_ = false; }

   private:
    ClientState& state_;
};

// Timeouts are in seconds.
class ClientEnd {
   public:
    explicit ClientEnd(std::shared_ptr<ClientState> state) : state_(std::move(state)) {}

    [[nodiscard]] nb::bytes call(nb::handle request, double timeout);
    // Sends all `requests` and takes their replies, in their order, as room and replies come.
    void call_many(nb::handle requests, nb::handle replies, double timeout);
    [[nodiscard]] Ticket submit(nb::handle request, double timeout);
    [[nodiscard]] std::optional<Ticket> try_submit(nb::handle request);
    [[nodiscard]] Tickets try_submit_n(nb::handle requests);
    [[nodiscard]] nb::bytes wait(Ticket const& ticket, double timeout);
    [[nodiscard]] nb::object try_take(Ticket const& ticket);  // None while it has not come
    [[nodiscard]] std::size_t try_take_n(Tickets& tickets, nb::handle replies);
    void abandon(Ticket const& ticket);
    void warm();
    [[nodiscard]] BytesClient const& client() const { return state_->client(); }

   private:
    [[nodiscard]] nb::bytes call_in_parts(HeldBytes const& request,
                                          std::chrono::nanoseconds timeout);
    void exchange(HeldBytes const& requests, HeldBytes const& replies, Tickets& outstanding,
                  std::chrono::nanoseconds timeout);

    std::shared_ptr<ClientState> state_;
};

}  // namespace carillon::python
