// SPDX-License-Identifier: Apache-2.0
#include "client.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <string>

#include "carillon/wait.hpp"
#include "gil.hpp"
#include "waits.hpp"

namespace carillon::python {
namespace {

// Bytes of Python's, to be written before anybody sees them.
nb::bytes new_bytes(std::size_t size) {
    PyObject* const made = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size));
    if (made == nullptr) throw nb::python_error();
    return nb::steal<nb::bytes>(made);
}
std::span<std::byte> bytes_of(nb::bytes const& bytes) {
    return {reinterpret_cast<std::byte*>(PyBytes_AsString(bytes.ptr())), bytes.size()};
}

// Both are whole messages, and as many. Throws UsageError.
void check_many(BytesClient const& client, std::size_t requests, std::size_t replies) {
    std::size_t const count = requests / client.request_bytes();
    if (count * client.request_bytes() != requests || count * client.reply_bytes() != replies) {
        throw UsageError("Client::call_many",
                         std::to_string(requests) + " bytes of requests and room for " +
                             std::to_string(replies) + " of replies are not as many messages of " +
                             std::to_string(client.request_bytes()) + " and " +
                             std::to_string(client.reply_bytes()) + " bytes");
    }
}

// Many requests, and room for their replies.
class Row {
   public:
    Row(BytesClient& client, std::span<std::byte const> requests, std::span<std::byte> replies,
        Tickets& outstanding)
        : client_(client), requests_(requests), replies_(replies), outstanding_(outstanding) {}

    // Sends what there is room for, and takes what has come. True when all has been taken.
    bool advance() {
        Tickets const sent = client_.try_submit_n(requests_);
        requests_ = requests_.subspan(sent.size() * client_.request_bytes());
        outstanding_.append(sent);
        if (!outstanding_.empty()) {
            std::size_t const taken = client_.try_take_n(outstanding_, replies_);
            replies_ = replies_.subspan(taken * client_.reply_bytes());
        }
        return replies_.empty();
    }
    [[nodiscard]] std::size_t left() const { return replies_.size() / client_.reply_bytes(); }

   private:
    BytesClient& client_;
    std::span<std::byte const> requests_;
    std::span<std::byte> replies_;
    Tickets& outstanding_;
};

}  // namespace

void ClientState::drop(Ticket const& ticket) noexcept {
    try {
        client().abandon(ticket);
    } catch (Error const&) {  // it was taken, or all has ended
    }
}

void ClientState::drop_given_up() noexcept {
    for (Ticket const& each : given_up_) drop(each);
    given_up_.clear();
}

void ClientState::give_up(Ticket const& ticket) {
    given_up_.push_back(ticket);
    if (!busy_.busy) drop_given_up();
}

// What `use` makes of the client, while no other thread is in a call of it. What the C++ client
// says is wrong names `call`, which is what the user called.
template <class Use>
auto ClientEnd::within(char const* call, Use const& use) {
    InCall const in(state_->busy(), call);
    state_->drop_given_up();
    auto const of_client = [](Error const& error) {
        return error.call().starts_with("Client") || error.call().starts_with("BytesClient");
    };
    try {
        return use(state_->client());
    } catch (ForkError const& error) {
        throw ForkError(call, cause_of(error));
    } catch (OwnerGoneError const& error) {
        throw OwnerGoneError(call, cause_of(error));
    } catch (StoppedError const& error) {
        if (!of_client(error)) throw;
        throw StoppedError(call, cause_of(error));
    } catch (UsageError const& error) {
        if (!of_client(error)) throw;  // a handler's, which ended the kernel
        throw UsageError(call, cause_of(error));
    }
}

nb::bytes ClientEnd::call(nb::handle request, double timeout) {
    auto const bound = duration("Client::call", timeout);
    HeldBytes const from(request, HeldBytes::Use::read);
    return within("Client::call", [&](BytesClient& client) {
        nb::bytes reply = new_bytes(client.reply_bytes());
        ask(client, from.bytes(), bytes_of(reply), bound);
        return reply;
    });
}

nb::object ClientEnd::call_as(Codec const& asks, Codec const& answers, nb::handle request,
                              double timeout) {
    auto const bound = duration("Client::call", timeout);
    Message asked;
    asks.encode(request, asked);
    std::array<std::byte, message_bytes> answered;
    auto const reply = within("Client::call", [&](BytesClient& client) {
        auto const room = std::span<std::byte>(answered).first(client.reply_bytes());
        ask(client, asked.bytes(), room, bound);
        return room;
    });
    return answers.decode(reply);
}

// The request goes at once where there is room: what waiting takes is done while it is served.
void ClientEnd::ask(BytesClient& client, std::span<std::byte const> request,
                    std::span<std::byte> reply, std::chrono::nanoseconds timeout) {
    std::optional<Ticket> ticket = client.try_submit(request);
    Deadline const deadline(timeout);
    try {
        if (!ticket) {
            wait_in_parts(timeout, [&](auto part) { ticket = client.submit(request, part); });
        }
        wait_in_parts(deadline.left(), [&](auto part) { client.wait(*ticket, reply, part); });
    } catch (TimeoutError const& error) {
        if (ticket) state_->drop(*ticket);
        throw TimeoutError("Client::call", cause_of(error), ticket.has_value());
    } catch (nb::python_error const&) {  // Ctrl-C
        if (ticket) state_->drop(*ticket);
        throw;
    }
}

void ClientEnd::call_many(nb::handle requests, nb::handle replies, double timeout) {
    auto const bound = duration("Client::call_many", timeout);
    HeldBytes const from(requests, HeldBytes::Use::read);
    HeldBytes const to(replies, HeldBytes::Use::write);
    within("Client::call_many", [&](BytesClient& client) {
        check_many(client, from.bytes().size(), to.bytes().size());
        Tickets outstanding;
        try {
            exchange(client, from, to, outstanding, bound);
        } catch (...) {
            for (std::size_t i = 0; i < outstanding.size(); ++i) state_->drop(outstanding[i]);
            throw;
        }
    });
}

void ClientEnd::exchange(BytesClient& client, HeldBytes const& requests, HeldBytes const& replies,
                         Tickets& outstanding, std::chrono::nanoseconds timeout) {
    Row row(client, requests.bytes(), replies.writable(), outstanding);
    HostWait const wait(WaitStyle::pause);
    wait_in_parts(timeout, [&](auto part) {
        if (wait.until([&] { return row.advance(); }, part)) return;
        throw TimeoutError("Client::call_many",
                           std::to_string(row.left()) + " replies have not come", true);
    });
}

Ticket ClientEnd::submit(nb::handle request, double timeout) {
    auto const bound = duration("Client::submit", timeout);
    HeldBytes const from(request, HeldBytes::Use::read);
    return within("Client::submit", [&](BytesClient& client) {
        std::optional<Ticket> ticket;
        wait_in_parts(bound, [&](auto part) { ticket = client.submit(from.bytes(), part); });
        return *ticket;
    });
}

std::optional<Ticket> ClientEnd::try_submit(nb::handle request) {
    HeldBytes const from(request, HeldBytes::Use::read);
    return within("Client::try_submit",
                  [&](BytesClient& client) { return client.try_submit(from.bytes()); });
}

Tickets ClientEnd::try_submit_n(nb::handle requests) {
    HeldBytes const from(requests, HeldBytes::Use::read);
    return within("Client::try_submit_many",
                  [&](BytesClient& client) { return client.try_submit_n(from.bytes()); });
}

nb::bytes ClientEnd::wait(Ticket const& ticket, double timeout) {
    auto const bound = duration("Client::wait", timeout);
    return within("Client::wait", [&](BytesClient& client) {
        nb::bytes reply = new_bytes(client.reply_bytes());
        wait_in_parts(bound, [&](auto part) { client.wait(ticket, bytes_of(reply), part); });
        return reply;
    });
}

nb::object ClientEnd::try_take(Ticket const& ticket) {
    return within("Client::try_take", [&](BytesClient& client) -> nb::object {
        std::array<std::byte, message_bytes> reply;
        auto const room = std::span<std::byte>(reply).first(client.reply_bytes());
        if (!client.try_take(ticket, room)) return nb::none();
        return nb::bytes(room.data(), room.size());
    });
}

std::size_t ClientEnd::try_take_n(Tickets& tickets, nb::handle replies) {
    HeldBytes const to(replies, HeldBytes::Use::write);
    return within("Client::try_take_many",
                  [&](BytesClient& client) { return client.try_take_n(tickets, to.writable()); });
}

void ClientEnd::abandon(Ticket const& ticket) {
    within("Client::abandon", [&](BytesClient& client) { client.abandon(ticket); });
}

void ClientEnd::warm() {
    within("Client::warm", [](BytesClient& client) { client.warm(); });
}

std::vector<std::int64_t> ClientEnd::time_calls(nb::handle request, std::size_t count) {
    using Clock = std::chrono::steady_clock;
    HeldBytes const from(request, HeldBytes::Use::read);
    InCall const in(state_->busy(), "Client::time_calls");
    std::array<std::byte, message_bytes> reply;
    auto const room = std::span<std::byte>(reply).first(client().reply_bytes());
    std::vector<std::int64_t> took(count);
    OthersRun const others_run;
    for (std::int64_t& each : took) {
        auto const begin = Clock::now();
        state_->client().call(from.bytes(), room, std::chrono::seconds(1));
        each = std::chrono::nanoseconds(Clock::now() - begin).count();
    }
    return took;
}

std::vector<std::int64_t> ClientEnd::time_rows(nb::handle requests, nb::handle replies,
                                               std::size_t count) {
    using Clock = std::chrono::steady_clock;
    HeldBytes const from(requests, HeldBytes::Use::read);
    HeldBytes const to(replies, HeldBytes::Use::write);
    check_many(client(), from.bytes().size(), to.bytes().size());
    InCall const in(state_->busy(), "Client::time_rows");
    HostWait const wait(WaitStyle::pause);
    std::vector<std::int64_t> took(count);
    OthersRun const others_run;
    for (std::int64_t& each : took) {
        Tickets outstanding;
        Row row(state_->client(), from.bytes(), to.writable(), outstanding);
        auto const begin = Clock::now();
        if (!wait.until([&] { return row.advance(); }, std::chrono::seconds(1))) {
            throw TimeoutError("Client::time_rows", "replies have not come", true);
        }
        each = std::chrono::nanoseconds(Clock::now() - begin).count();
    }
    return took;
}

void bind_client(nb::module_& module) {
    nb::class_<Ticket>(module, "Ticket", "Names a request whose reply is taken later, once.")
        .def_prop_ro("number", &Ticket::number, "Counts the client's requests.")
        .def(
            "__eq__", [](Ticket const& one, Ticket const& other) { return one == other; },
            nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"))
        .def("__hash__", [](Ticket const& one) { return one.number(); });
    nb::class_<Tickets>(module, "Tickets", "Names requests that were sent one after the other.")
        .def("__len__", &Tickets::size)
        .def("__getitem__", [](Tickets const& tickets, std::size_t index) {
            if (index >= tickets.size()) throw nb::index_error("there are not so many");
            return tickets[index];
        });
    nb::class_<ChannelCounters>(module, "ChannelCounters", "What has gone through a channel.")
        .def_ro("submitted", &ChannelCounters::submitted, "Requests sent.")
        .def_ro("answered", &ChannelCounters::answered, "Whose reply the kernel has written.")
        .def_ro("taken", &ChannelCounters::taken, "Replies that have left the ring.")
        .def_ro("dropped", &ChannelCounters::dropped, "Requests whose reply nobody gets.")
        .def_ro("stalls", &ChannelCounters::stalls, "Requests that met a full ring.")
        .def_ro("depth", &ChannelCounters::depth, "Under way now.");
    nb::class_<ClientEnd>(module, "BytesClient", "A client whose messages are bytes.")
        .def("call", &ClientEnd::call, nb::arg("request"), nb::arg("timeout"))
        .def("call_as", &ClientEnd::call_as, nb::arg("asks"), nb::arg("answers"),
             nb::arg("request"), nb::arg("timeout"))
        .def("call_many", &ClientEnd::call_many, nb::arg("requests"), nb::arg("replies"),
             nb::arg("timeout"))
        .def("submit", &ClientEnd::submit, nb::arg("request"), nb::arg("timeout"))
        .def("try_submit", &ClientEnd::try_submit, nb::arg("request"))
        .def("try_submit_n", &ClientEnd::try_submit_n, nb::arg("requests"))
        .def("wait", &ClientEnd::wait, nb::arg("ticket"), nb::arg("timeout"))
        .def("try_take", &ClientEnd::try_take, nb::arg("ticket"),
             nb::sig("def try_take(self, ticket: Ticket) -> bytes | None"))
        .def("try_take_n", &ClientEnd::try_take_n, nb::arg("tickets"), nb::arg("replies"))
        .def("abandon", &ClientEnd::abandon, nb::arg("ticket"))
        .def("_give_up", &ClientEnd::give_up, nb::arg("ticket"))
        .def("warm", &ClientEnd::warm)
        .def("_time_calls", &ClientEnd::time_calls, nb::arg("request"), nb::arg("count"))
        .def("_time_rows", &ClientEnd::time_rows, nb::arg("requests"), nb::arg("replies"),
             nb::arg("count"))
        .def_prop_ro("capacity", [](ClientEnd const& end) { return end.client().capacity(); })
        .def_prop_ro("request_bytes",
                     [](ClientEnd const& end) { return end.client().request_bytes(); })
        .def_prop_ro("reply_bytes", [](ClientEnd const& end) { return end.client().reply_bytes(); })
        .def_prop_ro("all_answered",
                     [](ClientEnd const& end) { return end.client().all_answered(); })
        .def_prop_ro("counters", [](ClientEnd const& end) { return end.client().counters(); });
}

}  // namespace carillon::python
