// SPDX-License-Identifier: Apache-2.0
#include "serving/server_thread.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "carillon/detail/host/start_thread.hpp"
#include "carillon/error.hpp"

namespace carillon::detail {
namespace {

constexpr char const* call = "Server";
// How often the kernel is looked at while somebody has a block of it.
constexpr std::chrono::milliseconds look_period{5};
constexpr std::chrono::milliseconds end_period{1};  // while a block is about to be free
constexpr std::chrono::milliseconds idle_period{200};
// How often what clients count is looked at: each look costs them a miss at their next store there.
constexpr std::chrono::milliseconds counters_period{50};
// Whether it has ended by itself the driver is asked, which may take a lock: once in so many turns.
constexpr unsigned turns_before_asking = 10;

ServeOptions const& checked(ServeOptions const& options) {
    auto const need = [](char const* field, std::size_t value) {
        if (value != 0) return;
        throw UsageError(call,
                         fmt::format("ServeOptions::{} of 0: nobody could ever attach", field));
    };
    need("channels_per_connection", options.channels_per_connection);
    need("bytes_per_connection", options.bytes_per_connection);
    need("descriptors_per_connection", options.descriptors_per_connection);
    return options;
}

ReceptionRules rules_of(ServeOptions const& options) {
    return {"ServeOptions",
            options.name,
            options.mode,
            options.users,
            options.groups,
            options.connections,
            options.connections_per_user,
            options.log};
}

}  // namespace

ServerThread::ServerThread(ServeOptions const& options)
    : options_(checked(options)), reception_(call, rules_of(options)), wakeup_(call) {}

void ServerThread::open(std::filesystem::path const& path) {
    std::lock_guard const lock(mutex_);
    if (thread_.joinable()) {
        throw UsageError("Server::open",
                         fmt::format("it is open already, at {}", reception_.path().string()));
    }
    reception_.open(path);
    try {
        thread_ =
            start_thread("carillon-server", [this](std::stop_token const& stop) { serve(stop); });
    } catch (...) {  // nobody would ever answer who connects
        reception_.undo_open();
        throw;
    }
}

ServerThread::~ServerThread() {
    thread_.request_stop();
    wakeup_.wake();
    if (thread_.joinable()) thread_.join();
    for (auto const& session : sessions_) {
        for (auto const& [lease, held] : session->leases) give_back(held);
    }
}

std::shared_ptr<ServerThread> ServerThread::make(ServeOptions const& options) {
    return {new ServerThread(options), LetServerGo()};
}

void ServerThread::add(std::unique_ptr<ServedItem> object) {
    require_name(call, "object", object->name());
    std::vector<std::unique_ptr<ServedItem>> unused;  // goes when the lock has been released
    std::lock_guard const lock(mutex_);
    unused.swap(unused_);
    auto const same = std::ranges::find_if(
        objects_, [&](auto const& each) { return each->name() == object->name(); });
    if (same == objects_.end()) return objects_.push_back(std::move(object));
    (void)(*same)->look(true);
    if (!(*same)->ended()) {
        throw UsageError(call, fmt::format(R"(there is a {} of the name "{}" already)",
                                           to_string((*same)->kind()), (*same)->name()));
    }
    object->follow();
    former_.push_back(std::move(object));
    std::swap(former_.back(), *same);
    wakeup_.wake();
}

std::vector<ConnectedClient> ServerThread::clients() const {
    std::lock_guard const lock(mutex_);
    std::vector<ConnectedClient> all;
    for (auto const& session : sessions_) {
        if (session->name.empty()) continue;
        ConnectedClient client{session->name, session->peer.pid, session->peer.uid, {}};
        for (auto const& [lease, held] : session->leases) {
            if (held.object->kind() == ObjectKind::kernel) client.blocks.push_back(held.place);
        }
        all.push_back(std::move(client));
    }
    return all;
}

void ServerThread::serve(std::stop_token const& stop) {
    for (unsigned turn = 0; !stop.stop_requested(); ++turn) {
        try {
            take_turn(turn);
        } catch (std::exception const&) {  // no memory: the next turn does what this one has not
            std::this_thread::sleep_for(look_period);
        }
        reception_.say_lines();
    }
    reception_.say_lines(true);
    if (deletes_itself_) delete this;
}

std::chrono::milliseconds ServerThread::period() const {
    std::lock_guard const lock(mutex_);
    auto period = idle_period;
    for (auto const& object : objects_) {
        if (object->ended()) continue;  // nobody of it leaves anything any more
        if (object->any_ends()) return end_period;
        if (object->any_lent()) period = look_period;
    }
    // What a client has read is not told.
    bool const any_asks =
        std::ranges::any_of(sessions_, [](auto const& session) { return !session->asks.empty(); });
    return any_asks ? std::min(period, look_period) : period;
}

void ServerThread::take_turn(unsigned turn) {
    std::vector<::pollfd> descriptors = watched();
    (void)::poll(descriptors.data(), descriptors.size(), static_cast<int>(period().count()));
    if (descriptors[0].revents != 0) wakeup_.reset();
    std::lock_guard const lock(mutex_);
    auto rest = std::span<::pollfd const>(descriptors).subspan(2);
    for (auto const& session : sessions_) reception_.heed(*session, rest);
    reception_.accept_all(descriptors[1], [&](UnixSocket socket) { accept(std::move(socket)); });
    take_back_former();
    for (auto const& session : sessions_) receive_from(*session);
    tell_state(turn % turns_before_asking == 0);
    count_as_drained();
    look_at_counters();
    drop_over();  // whoever asks now may have what they had
    for (auto const& session : sessions_) lend_to(*session);
}

std::vector<::pollfd> ServerThread::watched() const {
    std::vector<::pollfd> all{{wakeup_.fd(), POLLIN, 0}, reception_.listening()};
    for (auto const& session : sessions_) Reception::watch(all, *session);
    return all;
}

void ServerThread::accept(UnixSocket socket) {
    sessions_.push_back(std::make_unique<Session>(std::move(socket)));
    Session& session = *sessions_.back();
    auto refusal = reception_.admit(session);
    if (!refusal) return;
    refuse(session, 0, std::move(*refusal));
    sessions_.pop_back();
}

void ServerThread::receive_from(Session& session) {
    reception_.receive_from(
        session,
        [&](SocketMessage const& message) {
            Decoded const decoded = decode(message.bytes, message.descriptors.size());
            handle(session, decoded.id, decoded.message);
        },
        [&](Refusal refusal) { refuse(session, 0, std::move(refusal)); });
}

void ServerThread::drop_over() {
    std::erase_if(sessions_, [&](std::unique_ptr<Session> const& session) {
        if (!reception_.has_gone(*session)) return false;
        while (!session->leases.empty()) end_lease(*session, session->leases.begin()->first);
        reception_.forget(*session);
        return true;
    });
}

void ServerThread::tell_state(bool ask_device) {
    for (auto const& object : objects_) {
        if (!object->look(ask_device)) continue;
        Notice const notice{object->name(), object->told(), object->told_text()};
        for (auto const& session : sessions_) {
            if (!session->name.empty()) send(*session, 0, notice);
        }
        object->all_heard();
    }
}

void ServerThread::look_at_counters() {
    auto const now = Clock::now();
    if (now - looked_at_counters_ < counters_period) return;
    looked_at_counters_ = now;
    for (auto const& session : sessions_) {
        for (auto each = session->leases.begin(); each != session->leases.end();) {
            auto const& [lease, held] = *each++;
            char const* const wrong = held.object->look_at_counters(held.place);
            if (wrong == nullptr) continue;
            reception_.log(*session, fmt::format("has lost its place at \"{}\": {}",
                                                 held.object->name(), wrong));
            send(*session, 0, Ended{lease, wrong});
            end_lease(*session, lease);
        }
    }
}

void ServerThread::handle(Session& session, std::uint32_t id, Message const& message) {
    try {
        if (session.name.empty() && !std::holds_alternative<Hello>(message)) {
            throw ProtocolError(call, "a client says hello first");
        }
        if (auto const* hello = std::get_if<Hello>(&message)) {
            answer(session, id, *hello);
        } else if (auto const* attach = std::get_if<Attach>(&message)) {
            ask(session, id, *attach);
        } else if (auto const* look = std::get_if<Look>(&message)) {
            answer(session, id, *look);
        } else if (auto const* mapped = std::get_if<Mapped>(&message)) {
            hear(session, *mapped);
        } else if (auto const* detach = std::get_if<Detach>(&message)) {
            end_lease(session, detach->lease);
        } else if (auto const* drained = std::get_if<Drained>(&message)) {
            auto const found = session.leases.find(drained->lease);
            if (found != session.leases.end()) found->second.object->drained(found->second.place);
        } else {
            throw ProtocolError(call, "a message that only an owner sends");
        }
    } catch (Refusal const& refusal) {
        refuse(session, id, refusal);
    }
}

void ServerThread::hear(Session& session, Mapped const& mapped) {
    auto const found = session.leases.find(mapped.lease);
    if (found == session.leases.end()) {
        // The client did not know the lease yet when Ended came, and passed it over.
        if (mapped.mapped) send(session, 0, Ended{mapped.lease, "another object has its name"});
        return;
    }
    if (mapped.mapped) return;
    reception_.log(session, fmt::format("could not map \"{}\": {}", found->second.object->name(),
                                        mapped.text));
    end_lease(session, mapped.lease);
}

void ServerThread::answer(Session& session, std::uint32_t id, Hello const& hello) {
    if (!session.name.empty()) throw ProtocolError(call, "a client says hello once");
    session.name = hello.name;
    send(session, id,
         Welcome{static_cast<std::uint32_t>(::getpid()), reception_.instance(), options_.name});
    for (auto const& object : objects_) {
        if (object->told() == KernelState::running) continue;
        send(session, 0, Notice{object->name(), object->told(), object->told_text()});
    }
}

void ServerThread::answer(Session& session, std::uint32_t id, Look const& look) {
    Seen seen;
    seen.objects = static_cast<std::uint32_t>(objects_.size());
    if (!objects_.empty()) {
        if (look.object >= objects_.size()) {
            throw Refusal{
                RefusalReason::unknown_object,
                fmt::format("there is no object {}: there are {}", look.object, objects_.size())};
        }
        see(*objects_[look.object], look.place, seen);
    }
    send(session, id, seen);
}

void ServerThread::see(ServedItem const& object, unsigned place, Seen& seen) const {
    if (place >= object.places()) {
        throw Refusal{RefusalReason::unknown_object,
                      fmt::format("there is no block {} of \"{}\": there are {}", place,
                                  object.name(), object.places())};
    }
    seen.object = object.name();
    seen.kind = object.kind();
    seen.state = object.state(true);
    seen.places = object.places();
    seen.activity = object.activity(place);
    seen.emulated = object.emulated();
    object.count(place, seen);
    for (auto const& each : sessions_) {
        for (auto const& [lease, held] : each->leases) {
            if (held.object != &object || held.place != place) continue;
            auto const since = Clock::now() - held.since;
            seen.client = each->name;
            seen.process = static_cast<std::uint32_t>(each->peer.pid);
            seen.user = each->peer.uid;
            seen.held_ms = static_cast<std::uint64_t>(
                std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
        }
    }
}

void ServerThread::send(Session& session, std::uint32_t id, Message const& message) {
    reception_.send(session, [&] { return encode(id, message); });
}

void ServerThread::refuse(Session& session, std::uint32_t id, Refusal refusal) {
    reception_.log_refused(session, refusal);
    send(session, id, Refused{refusal.reason, std::move(refusal.text)});
}

}  // namespace carillon::detail
