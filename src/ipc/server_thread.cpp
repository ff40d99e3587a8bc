// SPDX-License-Identifier: Apache-2.0
#include "ipc/server_thread.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <utility>

#include "carillon/error.hpp"
#include "os/thread.hpp"

namespace carillon::detail {
namespace {

constexpr char const* call = "Server";
// A stranger has so long to introduce itself.
constexpr std::chrono::seconds longest_silence{5};
// How often the kernel is looked at while somebody has a block of it.
constexpr std::chrono::milliseconds look_period{5};
constexpr std::chrono::milliseconds end_period{1};  // while a block is about to be free
constexpr std::chrono::milliseconds idle_period{200};
// Whether it has ended by itself the driver is asked, which may take a lock: once in so many turns.
constexpr unsigned turns_before_asking = 10;
// Of one client at a time; then it is another's turn.
constexpr unsigned messages_in_a_turn = 16;
constexpr unsigned connections_in_a_turn = 16;

ServeOptions const& checked(ServeOptions const& options) {
    require_name(call, "owner", options.name);
    if ((options.mode & ~0777U) != 0) {
        throw UsageError(call, fmt::format("ServeOptions::mode {:o}: a socket has nine bits of it",
                                           options.mode));
    }
    auto const need = [](char const* field, std::size_t value) {
        if (value != 0) return;
        throw UsageError(
            call, fmt::format("ServeOptions::{} of 0: nobody could ever {}", field,
                              field == std::string_view("connections") ? "connect" : "attach"));
    };
    need("connections", options.connections);
    need("channels_per_connection", options.channels_per_connection);
    need("bytes_per_connection", options.bytes_per_connection);
    need("descriptors_per_connection", options.descriptors_per_connection);
    return options;
}

std::uint64_t new_instance() {
    std::random_device random;
    std::uint64_t const high = random();
    return high << 32U | random();
}

}  // namespace

ServerThread::ServerThread(std::filesystem::path const& path, ServeOptions const& options,
                           std::unique_ptr<ServedItem> first)
    : path_(path),
      options_(checked(options)),
      instance_(new_instance()),
      listener_(call, path, options.mode),
      wakeup_(call) {
    if (first) add(std::move(first));
    thread_ = start_thread([this](std::stop_token const& stop) { serve(stop); });
}

ServerThread::~ServerThread() {
    thread_.request_stop();
    wakeup_.wake();
    thread_.join();
    for (auto const& session : sessions_) {
        for (auto const& [lease, held] : session->leases) give_back(held);
    }
}

std::shared_ptr<ServerThread> ServerThread::make(std::filesystem::path const& path,
                                                 ServeOptions const& options,
                                                 std::unique_ptr<ServedItem> first) {
    return {new ServerThread(path, options, std::move(first)), DeleteOwn()};
}

void ServerThread::add(std::unique_ptr<ServedItem> object) {
    require_name(call, "object", object->name());
    std::lock_guard const lock(mutex_);
    for (auto const& each : objects_) {
        if (each->name() != object->name()) continue;
        throw UsageError(call, fmt::format(R"(there is a {} of the name "{}" already)",
                                           to_string(each->kind()), each->name()));
    }
    objects_.push_back(std::move(object));
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
    }
}

std::chrono::milliseconds ServerThread::period() const {
    std::lock_guard const lock(mutex_);
    auto period = idle_period;
    for (auto const& object : objects_) {
        if (object->ended()) continue;  // nobody of it leaves anything any more
        if (object->any_ends()) return end_period;
        if (object->any_lent()) period = look_period;
    }
    return period;
}

void ServerThread::take_turn(unsigned turn) {
    std::vector<::pollfd> descriptors = watched();
    (void)::poll(descriptors.data(), descriptors.size(), static_cast<int>(period().count()));
    wakeup_.reset();
    std::lock_guard const lock(mutex_);
    accept_all();
    for (auto const& session : sessions_) receive_from(*session);
    tell_state(turn % turns_before_asking == 0);
    drop_over();  // whoever asks now may have what they had
    for (auto const& session : sessions_) lend_to(*session);
}

std::vector<::pollfd> ServerThread::watched() const {
    // Without descriptors whoever connects waits for the next turn.
    std::vector<::pollfd> all{{wakeup_.fd(), POLLIN, 0}, {deaf_ ? -1 : listener_.fd(), POLLIN, 0}};
    for (auto const& session : sessions_) {
        all.push_back({session->socket.fd(), POLLIN, 0});
        all.push_back({session->process.get(), POLLIN, 0});  // -1 is passed over
    }
    return all;
}

void ServerThread::accept_all() {
    deaf_ = false;
    try {
        for (unsigned i = 0; i < connections_in_a_turn; ++i) {
            auto socket = listener_.accept();
            if (!socket) return;
            accept(std::move(*socket));
        }
    } catch (std::exception const&) {  // no descriptor is left, or no memory
        deaf_ = true;
    }
}

void ServerThread::accept(UnixSocket socket) {
    Session session{std::move(socket), {}, {}, Clock::now()};
    try {
        session.peer = session.socket.peer(call);
        if (sessions_.size() >= options_.connections) {
            return refuse(
                session, 0, RefusalReason::full,
                fmt::format("there are {} connections already (ServeOptions::connections)",
                            sessions_.size()));
        }
        session.process = end_of_process(call, session.peer.pid);
    } catch (Error const& error) {
        return refuse(session, 0, RefusalReason::other, error.what());
    }
    sessions_.push_back(std::make_unique<Session>(std::move(session)));
}

void ServerThread::receive_from(Session& session) {
    for (unsigned i = 0; i < messages_in_a_turn && !session.over; ++i) {
        try {
            Received received = session.socket.receive(call, 0);
            if (std::holds_alternative<NothingThere>(received)) return;
            if (std::holds_alternative<PeerClosed>(received)) {
                session.over = true;
                return;
            }
            auto const& message = std::get<SocketMessage>(received);
            Decoded const decoded = decode(message.bytes, message.descriptors.size());
            handle(session, decoded.id, decoded.message);
        } catch (VersionError const& error) {
            refuse(session, 0, RefusalReason::version, cause_of(error));
            session.over = true;
        } catch (Error const& error) {
            refuse(session, 0, RefusalReason::bad_message, error.what());
            session.over = true;
        } catch (std::exception const& error) {  // no memory
            refuse(session, 0, RefusalReason::other, error.what());
            session.over = true;
        }
    }
}

void ServerThread::drop_over() {
    auto const now = Clock::now();
    std::erase_if(sessions_, [&](std::unique_ptr<Session> const& session) {
        ::pollfd ended{session->process.get(), POLLIN, 0};
        bool const process_ended = ::poll(&ended, 1, 0) == 1;
        bool const stranger = session->name.empty() && now - session->came > longest_silence;
        if (stranger) log(*session, "dropped, since it has not said who it is");
        if (!session->over && !process_ended && !stranger) return false;
        while (!session->leases.empty()) end_lease(*session, session->leases.begin()->first);
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
            if (!mapped->mapped) end_lease(session, mapped->lease);
        } else if (auto const* detach = std::get_if<Detach>(&message)) {
            end_lease(session, detach->lease);
        } else if (auto const* drained = std::get_if<Drained>(&message)) {
            auto const found = session.leases.find(drained->lease);
            if (found != session.leases.end()) found->second.object->drained(found->second.place);
        } else {
            throw ProtocolError(call, "a message that only an owner sends");
        }
    } catch (Refusal const& refusal) {
        refuse(session, id, refusal.reason, refusal.text);
    }
}

void ServerThread::answer(Session& session, std::uint32_t id, Hello const& hello) {
    if (!session.name.empty()) throw ProtocolError(call, "a client says hello once");
    require_allowed(session);
    session.name = hello.name;
    send(session, id, Welcome{static_cast<std::uint32_t>(::getpid()), instance_, options_.name});
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

void ServerThread::require_allowed(Session const& session) const {
    if (options_.users.empty() && options_.groups.empty()) return;
    PeerCredentials const& peer = session.peer;
    if (peer.uid == ::geteuid() || std::ranges::count(options_.users, peer.uid) != 0) return;
    std::vector<gid_t> groups = session.socket.peer_groups(call);
    groups.push_back(peer.gid);
    for (gid_t const group : groups) {
        if (std::ranges::count(options_.groups, group) != 0) return;
    }
    throw Refusal{RefusalReason::not_allowed,
                  fmt::format("the user {} is not among those that may attach", peer.uid)};
}

void ServerThread::send(Session& session, std::uint32_t id, Message const& message,
                        std::vector<int> const& descriptors) {
    try {
        if (!session.socket.send(call, encode(id, message), descriptors)) session.over = true;
    } catch (std::exception const& error) {  // or no memory
        log(session,
            fmt::format("dropped, since it does not read what it is sent: {}", error.what()));
        session.over = true;
    }
}

void ServerThread::refuse(Session& session, std::uint32_t id, RefusalReason reason,
                          std::string text) {
    log(session, fmt::format("refused ({}): {}", to_string(reason), text));
    send(session, id, Refused{reason, std::move(text)});
}

void ServerThread::log(Session const& session, std::string_view what) const noexcept {
    try {
        std::string const line =
            fmt::format("carillon: {}: {}, process {} of user {}: {}", path_.string(),
                        session.name.empty() ? "somebody" : session.name, session.peer.pid,
                        session.peer.uid, what);
        if (options_.log) {
            options_.log(line);
        } else {
            std::fputs((line + '\n').c_str(), stderr);
        }
    } catch (...) {  // the line is lost
    }
}

}  // namespace carillon::detail
