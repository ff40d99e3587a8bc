// SPDX-License-Identifier: Apache-2.0
#include "py_client.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <string>

#include "carillon/wait.hpp"
#include "gil.hpp"
#include "py_door.hpp"
#include "shown.hpp"
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

// A negative index counts from the end, like that of Python's sequences.
std::shared_ptr<OneTicket> ticket_at(TicketRow& row, nb::handle given) {
    if (PyIndex_Check(given.ptr()) == 0) {
        Argument{"index"}.refuse_type(given, "a whole number");
    }
    Py_ssize_t index = PyNumber_AsSsize_t(given.ptr(), nullptr);  // the nearest that there is
    if (index == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
    auto const count = static_cast<Py_ssize_t>(row.left().size());
    if (index < 0) index += count;
    if (index < 0 || index >= count) throw nb::index_error("the index is beyond the last ticket");
    return row.at(static_cast<std::size_t>(index));
}

// Checks that both are whole messages, and as many. Throws UsageError.
void check_many(BytesClient const& client, std::size_t requests, std::size_t replies) {
    std::size_t const count = requests / client.request_bytes();
    if (count * client.request_bytes() != requests || count * client.reply_bytes() != replies) {
        throw UsageError(std::to_string(requests) + " bytes of requests and " +
                         std::to_string(replies) +
                         " bytes for replies do not hold the same number of messages of " +
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

    // Sends requests while there is room, and takes replies that have come. True when all has been
    // taken.
    bool advance() {
        add(client_.try_submit_n(requests_, sent));
        if (!outstanding_.empty()) {
            std::size_t const taken = client_.try_take_n(outstanding_, replies_);
            replies_ = replies_.subspan(taken * client_.reply_bytes());
        }
        return replies_.empty();
    }
    // Throws TimeoutError if no request has gone: it says what has the room.
    void require_begun() {
        if (is_begun_) return;
        Tickets now;
        try {
            client_.submit_n(requests_, now, std::chrono::nanoseconds(0), sent);
        } catch (TimeoutError const&) {
            add(now);
            throw;
        }
        add(now);
    }
    [[nodiscard]] std::size_t left() const { return replies_.size() / client_.reply_bytes(); }

   private:
    void add(Tickets const& now) {
        requests_ = requests_.subspan(now.size() * client_.request_bytes());
        outstanding_.append(now);
        is_begun_ = is_begun_ || !now.empty();
    }

    BytesClient& client_;
    std::span<std::byte const> requests_;
    std::span<std::byte> replies_;
    Tickets& outstanding_;
    bool is_begun_ = false;
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

TicketRow::~TicketRow() {
    auto const client = client_.lock();
    for (std::size_t i = 0; client && i < left_.size(); ++i) {
        if (!named_.contains(left_[i].number())) client->give_up(left_[i]);
    }
}
std::shared_ptr<OneTicket> TicketRow::at(std::size_t index) {
    Ticket const ticket = left_[index];
    auto& named = named_[ticket.number()];
    if (!named) named = std::make_shared<OneTicket>(ticket, client_);
    return named;
}
void TicketRow::forget_taken() {
    auto const end = left_.empty() ? named_.end() : named_.lower_bound(left_[0].number());
    for (auto each = named_.begin(); each != end; ++each) each->second->done();
    named_.erase(named_.begin(), end);
}

OneTicket::~OneTicket() {
    if (auto const client = client_.lock()) client->give_up(ticket_);
}

// Returns the result of `use` for the client, while no other thread is in a call of it.
template <class Use>
auto ClientEnd::within(Use const& use) {
    InCall const in(state_->busy());
    state_->drop_given_up();
    return use(state_->client());
}

template <class Wait>
void ClientEnd::wait_for(std::chrono::nanoseconds timeout, std::chrono::nanoseconds given,
                         Wait const& wait) {
    wait_in_parts(timeout, given, wait, [this] { state_->drop_given_up(); });
}

nb::bytes ClientEnd::call(nb::handle request, double timeout) {
    auto const bound = duration(timeout);
    HeldBytes const from(request, HeldBytes::Use::read);
    return within([&](BytesClient& client) {
        nb::bytes reply = new_bytes(client.reply_bytes());
        ask(client, from.bytes(), bytes_of(reply), bound);
        return reply;
    });
}

nb::object ClientEnd::call_as(Codec const& asks, Codec const& answers, nb::handle request,
                              double timeout) {
    auto const bound = duration(timeout);
    Message asked;
    asks.encode(request, asked);
    std::array<std::byte, detail::message_bytes> answered;
    auto const reply = within([&](BytesClient& client) {
        auto const room = std::span<std::byte>(answered).first(client.reply_bytes());
        ask(client, asked.bytes(), room, bound);
        return room;
    });
    return answers.decode(reply);
}

// The request goes at once if there is room: the preparations of the wait happen while it is
// served.
void ClientEnd::ask(BytesClient& client, std::span<std::byte const> request,
                    std::span<std::byte> reply, std::chrono::nanoseconds timeout) {
    std::optional<Ticket> ticket = client.try_submit(request, sent);
    detail::Deadline const deadline(timeout);
    try {
        if (!ticket) {
            wait_for(timeout, timeout,
                     [&](auto part) { ticket = client.submit(request, part, sent); });
        }
        wait_for(deadline.left(), timeout, [&](auto part) { client.wait(*ticket, reply, part); });
    } catch (TimeoutError const& error) {
        if (ticket) state_->drop(*ticket);
        throw TimeoutError(error.cause(), ticket.has_value());
    } catch (nb::python_error const&) {  // Ctrl-C
        if (ticket) state_->drop(*ticket);
        throw;
    }
}

void ClientEnd::call_many(nb::handle requests, nb::handle replies, double timeout) {
    auto const bound = duration(timeout);
    HeldBytes const from(requests, HeldBytes::Use::read);
    HeldBytes const to(replies, HeldBytes::Use::write);
    within([&](BytesClient& client) {
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
    wait_for(timeout, timeout, [&](auto part) {
        if (wait.until([&] { return row.advance(); }, part)) return;
        row.require_begun();
        throw TimeoutError(std::to_string(row.left()) + " replies did not come before the timeout",
                           true);
    });
}

OneTicket ClientEnd::submit(nb::handle request, double timeout) {
    auto const bound = duration(timeout);
    HeldBytes const from(request, HeldBytes::Use::read);
    return within([&](BytesClient& client) {
        std::optional<Ticket> ticket;
        wait_for(bound, bound,
                 [&](auto part) { ticket = client.submit(from.bytes(), part, sent); });
        return OneTicket(*ticket, state_);
    });
}

std::optional<OneTicket> ClientEnd::try_submit(nb::handle request) {
    HeldBytes const from(request, HeldBytes::Use::read);
    return within([&](BytesClient& client) -> std::optional<OneTicket> {
        auto const ticket = client.try_submit(from.bytes(), sent);
        if (!ticket) return {};
        return OneTicket(*ticket, state_);
    });
}

std::shared_ptr<TicketRow> ClientEnd::try_submit_n(nb::handle requests) {
    HeldBytes const from(requests, HeldBytes::Use::read);
    return within([&](BytesClient& client) {
        return std::make_shared<TicketRow>(client.try_submit_n(from.bytes(), sent), state_);
    });
}

nb::bytes ClientEnd::wait(OneTicket& ticket, double timeout) {
    auto const bound = duration(timeout);
    return within([&](BytesClient& client) {
        nb::bytes reply = new_bytes(client.reply_bytes());
        auto const room = bytes_of(reply);
        wait_for(bound, bound, [&](auto part) { client.wait(ticket.ticket(), room, part); });
        ticket.done();
        return reply;
    });
}

nb::object ClientEnd::try_take(OneTicket& ticket) {
    return within([&](BytesClient& client) -> nb::object {
        std::array<std::byte, detail::message_bytes> reply;
        auto const room = std::span<std::byte>(reply).first(client.reply_bytes());
        if (!client.try_take(ticket.ticket(), room)) return nb::none();
        ticket.done();
        return nb::bytes(room.data(), room.size());
    });
}

std::size_t ClientEnd::try_take_n(TicketRow& tickets, nb::handle replies) {
    HeldBytes const to(replies, HeldBytes::Use::write);
    return within([&](BytesClient& client) {
        return tickets.take([&](Tickets& left) { return client.try_take_n(left, to.writable()); });
    });
}

void ClientEnd::abandon(OneTicket& ticket) {
    within([&](BytesClient& client) { client.abandon(ticket.ticket()); });
    ticket.done();
}

void ClientEnd::give_up(OneTicket& ticket) {
    state_->give_up(ticket.ticket());
    ticket.done();
}

void ClientEnd::warm() {
    within([](BytesClient& client) { client.warm(); });
}

std::vector<std::int64_t> ClientEnd::time_calls(nb::handle request, std::size_t count) {
    using Clock = std::chrono::steady_clock;
    HeldBytes const from(request, HeldBytes::Use::read);
    InCall const in(state_->busy());
    std::array<std::byte, detail::message_bytes> reply;
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
    InCall const in(state_->busy());
    HostWait const wait(WaitStyle::pause);
    std::vector<std::int64_t> took(count);
    OthersRun const others_run;
    for (std::int64_t& each : took) {
        Tickets outstanding;
        Row row(state_->client(), from.bytes(), to.writable(), outstanding);
        auto const begin = Clock::now();
        if (!wait.until([&] { return row.advance(); }, std::chrono::seconds(1))) {
            throw TimeoutError("replies have not come", true);
        }
        each = std::chrono::nanoseconds(Clock::now() - begin).count();
    }
    return took;
}

void bind_client(nb::module_& module) {
    nb::class_<OneTicket>(module, "Ticket",
                          "Names a request whose reply is taken later, once. A deleted ticket "
                          "gives its\nreply up and frees its slot.")
        .def_prop_ro(
            "number", [](OneTicket const& one) { return one.ticket().number(); },
            "The request's number at its client.")
        .def(
            "__eq__",
            [](OneTicket const& one, OneTicket const& other) {
                return one.ticket() == other.ticket();
            },
            nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"))
        .def("__hash__", [](OneTicket const& one) { return one.ticket().number(); })
        .def("__repr__", [](OneTicket const& one) {
            return "<carillon.Ticket " + std::to_string(one.ticket().number()) + ">";
        });
    nb::class_<TicketRow> tickets(module, "Tickets",
                                  "Names requests that were sent in a row. Its deletion gives up "
                                  "the replies, except\nthose with a ticket elsewhere.");
    Doors(tickets, "Tickets.")
        .def("__getitem__", ticket_at, nb::arg("index"),
             nb::sig("def __getitem__(self, index: typing.SupportsIndex, /) -> Ticket"));
    tickets.def("__len__", [](TicketRow const& row) { return row.left().size(); })
        .def(
            "__iter__", [](nb::handle row) { return nb::steal(PySeqIter_New(row.ptr())); },
            nb::sig("def __iter__(self) -> collections.abc.Iterator[Ticket]"))
        .def("__repr__", [](TicketRow const& row) {
            return "<carillon.Tickets: " + std::to_string(row.left().size()) + ">";
        });
    nb::class_<ChannelCounters> counters(module, "ChannelCounters",
                                         "The traffic counters of a channel.");
    show(counters, {"submitted", "answered", "taken", "dropped", "stalls", "depth"});
    counters.def_ro("submitted", &ChannelCounters::submitted, "Requests sent.")
        .def_ro("answered", &ChannelCounters::answered, "Requests answered by the kernel.")
        .def_ro("taken", &ChannelCounters::taken, "Replies that have left the ring.")
        .def_ro("dropped", &ChannelCounters::dropped, "Requests whose reply was given up.")
        .def_ro("stalls", &ChannelCounters::stalls, "Requests that found the ring full.")
        .def_ro("depth", &ChannelCounters::depth, "Requests outstanding now.");
    module.def(
        "_seconds",
        [](std::string const& call, nb::handle timeout) {
            return behind_door(CallName{call}, [&] {
                return seconds_of(timeout, [] { return Argument{"timeout"}; });
            });
        },
        nb::arg("call"), nb::arg("timeout").none(), "A timeout, for calls implemented in Python.");
    module.def(
        "_number",
        [](std::string const& call, std::string const& name, nb::handle given) {
            return behind_door(CallName{call}, [&] {
                return number_of<std::size_t>(given, [&] { return Argument{name.c_str()}; });
            });
        },
        nb::arg("call"), nb::arg("name"), nb::arg("given").none(),
        "A number, for calls implemented in Python.");
    nb::class_<ClientEnd> client(module, "BytesClient", "A client whose messages are bytes.");
    Doors(client, "Client.")
        .def("call", &ClientEnd::call, nb::arg("request"), nb::arg("timeout"))
        .def_as("call", "call_as", &ClientEnd::call_as, nb::arg("asks"), nb::arg("answers"),
                nb::arg("request"), nb::arg("timeout"))
        .def("call_many", &ClientEnd::call_many, nb::arg("requests"), nb::arg("replies"),
             nb::arg("timeout"))
        .def("submit", &ClientEnd::submit, nb::arg("request"), nb::arg("timeout"))
        .def("try_submit", &ClientEnd::try_submit, nb::arg("request"))
        .def_as("call_async", "_submit_async", &ClientEnd::try_submit, nb::arg("request"))
        .def_as("call_async", "_submit_async_or_raise", &ClientEnd::submit, nb::arg("request"),
                nb::arg("timeout"))
        .def_as("call_async", "_take_async", &ClientEnd::try_take, nb::arg("ticket"),
                nb::sig("def _take_async(self, ticket: Ticket) -> bytes | None"))
        .def_as("try_submit_many", "try_submit_n", &ClientEnd::try_submit_n, nb::arg("requests"))
        .def("wait", &ClientEnd::wait, nb::arg("ticket"), nb::arg("timeout"))
        .def("try_take", &ClientEnd::try_take, nb::arg("ticket"),
             nb::sig("def try_take(self, ticket: Ticket) -> bytes | None"))
        .def_as("try_take_many", "try_take_n", &ClientEnd::try_take_n, nb::arg("tickets"),
                nb::arg("replies"))
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
