// SPDX-License-Identifier: Apache-2.0
#include "store/store_thread.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <random>
#include <utility>

#include "carillon/error.hpp"
#include "os/thread.hpp"

namespace carillon::detail {
namespace {

constexpr char const* store_call = "StoreServer";
// A stranger has so long to introduce itself.
constexpr std::chrono::seconds longest_store_silence{5};
constexpr std::chrono::milliseconds store_period{200};
constexpr std::chrono::milliseconds longest_store_spin{100};
// Of one client at a time; then it is another's turn.
constexpr unsigned store_messages_in_a_turn = 16;
constexpr unsigned store_connections_in_a_turn = 16;

StoreServeOptions checked_serve(StoreServeOptions options) {
    require_name(store_call, "store", options.name);
    if ((options.mode & ~0777U) != 0) {
        throw UsageError(store_call, fmt::format("permissions {:o}: a socket has nine bits of them",
                                                 options.mode));
    }
    if (options.connections == 0 || options.buffers_per_connection == 0) {
        throw UsageError(store_call, "nobody could ever connect, or get a buffer");
    }
    options.spin = std::min<std::chrono::nanoseconds>(spin_time(options.spin), longest_store_spin);
    return options;
}

std::uint64_t new_store_instance() {
    std::random_device random;
    std::uint64_t const high = random();
    return high << 32U | random();
}

// Never that of another connection of this process, whichever store it is to.
HolderNumber new_holder() {
    static std::atomic<HolderNumber> last = own_process;
    return last.fetch_add(1) + 1;
}

}  // namespace

StoreThread::StoreThread(std::filesystem::path const& path, std::shared_ptr<BufferTable> table,
                         StoreServeOptions const& options)
    : path_(path),
      table_(std::move(table)),
      options_(checked_serve(options)),
      instance_(new_store_instance()),
      listener_(std::in_place, store_call, path, options.mode),
      follower_(store_call, table_),
      thread_(start_thread([this](std::stop_token const& stop) { serve(stop); })) {}

StoreThread::~StoreThread() {
    thread_.request_stop();
    follower_.wakeup().wake();
    thread_.join();
}

std::shared_ptr<StoreThread> StoreThread::make(std::filesystem::path const& path,
                                               std::shared_ptr<BufferTable> table,
                                               StoreServeOptions const& options) {
    return {new StoreThread(path, std::move(table), options), DeleteOwn()};
}

std::vector<StoreClient> StoreThread::clients() const {
    std::lock_guard const lock(mutex_);
    std::vector<StoreClient> all;
    for (auto const& session : sessions_) {
        if (session->name.empty()) continue;
        all.push_back({session->name, session->who.process, session->who.user, session->holds});
    }
    return all;
}

void StoreThread::serve(std::stop_token const& stop) {
    while (!stop.stop_requested() && !table_->closed()) {
        try {
            take_turn();
        } catch (std::exception const&) {  // no memory: the next turn does what this one has not
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }
    std::lock_guard const lock(mutex_);
    for (auto const& session : sessions_) table_->leave(session->who.number);
    sessions_.clear();
    listener_.reset();
}

void StoreThread::take_turn() {
    std::vector<::pollfd> descriptors = watched();
    await(descriptors);
    follower_.wakeup().reset();
    if (table_->closed()) return;
    std::lock_guard const lock(mutex_);
    accept_all();
    for (auto const& session : sessions_) receive_from(*session);
    drop_over();
    for (auto const& session : sessions_) tell_sealed(*session);
}

void StoreThread::await(std::vector<::pollfd>& descriptors) const {
    while (Clock::now() < awake_until_) {
        if (::poll(descriptors.data(), descriptors.size(), 0) != 0) return;
    }
    (void)::poll(descriptors.data(), descriptors.size(), static_cast<int>(store_period.count()));
}

std::vector<::pollfd> StoreThread::watched() const {
    // Without descriptors whoever connects waits for the next turn.
    std::vector<::pollfd> all{{follower_.wakeup().fd(), POLLIN, 0},
                              {deaf_ ? -1 : listener_->fd(), POLLIN, 0}};
    for (auto const& session : sessions_) {
        short const room = session->waits_for_room ? POLLOUT : 0;
        all.push_back({session->socket.fd(), static_cast<short>(POLLIN | room), 0});
        all.push_back({session->process.get(), POLLIN, 0});  // -1 is passed over
    }
    return all;
}

void StoreThread::accept_all() {
    deaf_ = false;
    try {
        for (unsigned i = 0; i < store_connections_in_a_turn; ++i) {
            auto socket = listener_->accept();
            if (!socket) return;
            accept(std::move(*socket));
        }
    } catch (std::exception const&) {  // no descriptor is left, or no memory
        deaf_ = true;
    }
}

void StoreThread::accept(UnixSocket socket) {
    Session session{std::move(socket), {new_holder()}, {}, Clock::now()};
    try {
        PeerCredentials const peer = session.socket.peer(store_call);
        session.who.process = peer.pid;
        session.who.user = peer.uid;
        if (sessions_.size() >= options_.connections) {
            return refuse(session, 0, RefusalReason::full,
                          fmt::format("there are {} connections already", sessions_.size()));
        }
        session.process = end_of_process(store_call, peer.pid);
    } catch (Error const& error) {
        return refuse(session, 0, RefusalReason::other, error.what());
    }
    sessions_.push_back(std::make_unique<Session>(std::move(session)));
}

void StoreThread::receive_from(Session& session) {
    for (unsigned i = 0; i < store_messages_in_a_turn && !session.over; ++i) {
        try {
            Received received = session.socket.receive(store_call, 0);
            if (std::holds_alternative<NothingThere>(received)) return;
            if (std::holds_alternative<PeerClosed>(received)) {
                session.over = true;
                return;
            }
            auto const& message = std::get<SocketMessage>(received);
            awake_until_ = Clock::now() + options_.spin;
            auto const decoded = store::decode(message.bytes, message.descriptors.size());
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

void StoreThread::handle(Session& session, std::uint32_t id, store::Message const& message) {
    bool const hello = std::holds_alternative<store::Hello>(message);
    if (session.name.empty() != hello) {
        throw ProtocolError(store_call, "a client says hello first, and once");
    }
    try {
        if (auto const* said = std::get_if<store::Hello>(&message)) {
            answer(session, id, *said);
        } else if (auto const* create = std::get_if<store::Create>(&message)) {
            answer(session, id, *create);
        } else if (auto const* get = std::get_if<store::Get>(&message)) {
            answer(session, id, *get);
        } else if (auto const* seal = std::get_if<store::Seal>(&message)) {
            table_->seal(session.who, seal->buffer);
            send(session, id, store::Done{});
        } else if (auto const* release = std::get_if<store::Release>(&message)) {
            if (table_->release(session.who.number, release->buffer)) --session.holds;
        } else if (auto const* forget = std::get_if<store::Forget>(&message)) {
            table_->forget(session.who.number, forget->memory);
        } else if (auto const* remove = std::get_if<store::Remove>(&message)) {
            table_->remove(session.who, {remove->buffer, remove->name});
            send(session, id, store::Done{});
        } else if (auto const* next = std::get_if<store::Next>(&message)) {
            answer(session, id, *next);
        } else if (std::holds_alternative<store::Watch>(message)) {
            session.next_sealed = table_->sealed_so_far();
            send(session, id, store::Done{});
        } else {
            throw ProtocolError(store_call, "a message that only a store sends");
        }
    } catch (StoreRefusal const& refusal) {
        refuse(session, id, refusal.reason, refusal.text);
    }
}

void StoreThread::answer(Session& session, std::uint32_t id, store::Hello const& hello) {
    require_allowed(session);
    session.name = hello.name;
    send(session, id,
         store::Welcome{static_cast<std::uint32_t>(::getpid()), instance_, options_.name});
}

void StoreThread::answer(Session& session, std::uint32_t id, store::Create const& create) {
    require_hold(session);
    try {
        lend(session, id,
             table_->create(session.who, create.name, create.bytes, create.host_memory));
    } catch (OutOfMemoryError const& error) {
        throw StoreRefusal{RefusalReason::full, error.what()};
    } catch (Error const& error) {  // of the device, or the system
        throw StoreRefusal{RefusalReason::other, error.what()};
    }
}

void StoreThread::answer(Session& session, std::uint32_t id, store::Get const& get) {
    require_hold(session);
    try {
        lend(session, id, table_->get(session.who, {get.buffer, get.name}));
    } catch (Error const& error) {  // no descriptor is left
        throw StoreRefusal{RefusalReason::other, error.what()};
    }
}

void StoreThread::lend(Session& session, std::uint32_t id, LentBuffer const& lent) {
    ++session.holds;
    Device const& device = table_->device();
    BufferInfo const& info = lent.info;
    store::Lent message;
    message.buffer = info.id;
    message.name = info.name;
    message.bytes = info.size;
    message.sealed = info.sealed;
    message.memory = lent.memory->number();
    message.memory_bytes = lent.memory->size();
    message.source = lent.memory->of_host() ? MemorySource::host : device.info().memory_source;
    if (!lent.memory->of_host()) {
        message.uuid = uuid_of(device.info());
        message.write_combining = device.traits().write_combining;
    }
    FileDescriptor file;
    message.descriptor = table_->tell(session.who, *lent.memory);
    try {
        if (message.descriptor) file = lent.memory->export_fd();
    } catch (...) {
        table_->forget(session.who.number, message.memory);
        (void)table_->release(session.who.number, info.id);
        --session.holds;
        throw;
    }
    std::vector<int> descriptors;
    if (message.descriptor) descriptors.push_back(file.get());
    send(session, id, message, descriptors);
}

void StoreThread::answer(Session& session, std::uint32_t id, store::Next const& next) {
    auto const found = table_->after(next.buffer);
    store::Listed listed;
    if (found) {
        listed = {found->id,      found->name,
                  found->size,    found->memory,
                  found->sealed,  found->host_memory,
                  found->holders, static_cast<std::uint32_t>(found->process),
                  found->user};
    }
    send(session, id, listed);
}

void StoreThread::require_hold(Session const& session) const {
    if (session.holds < options_.buffers_per_connection) return;
    throw StoreRefusal{RefusalReason::too_many_of_client,
                       fmt::format("the connection holds {} buffers already", session.holds)};
}

void StoreThread::require_allowed(Session const& session) const {
    if (options_.users.empty() && options_.groups.empty()) return;
    PeerCredentials const peer = session.socket.peer(store_call);
    if (peer.uid == ::geteuid() || std::ranges::count(options_.users, peer.uid) != 0) return;
    std::vector<gid_t> groups = session.socket.peer_groups(store_call);
    groups.push_back(peer.gid);
    for (gid_t const group : groups) {
        if (std::ranges::count(options_.groups, group) != 0) return;
    }
    throw StoreRefusal{RefusalReason::not_allowed,
                       fmt::format("the user {} is not among those that may connect", peer.uid)};
}

// As many as there is room for in its socket; the others then.
void StoreThread::tell_sealed(Session& session) {
    session.waits_for_room = false;
    while (session.next_sealed && !session.over) {
        std::uint64_t after = *session.next_sealed;
        auto const found = table_->sealed(after);
        if (!found) return;
        store::Sealed const message{found->id, found->name, found->size, found->missed};
        try {
            if (!session.socket.send(store_call, store::encode(0, message))) session.over = true;
        } catch (SystemError const& error) {
            session.waits_for_room = error.code() == EAGAIN || error.code() == ENOBUFS;
            session.over = !session.waits_for_room;
            return;
        }
        session.next_sealed = after;
    }
}

void StoreThread::drop_over() {
    auto const now = Clock::now();
    std::erase_if(sessions_, [&](std::unique_ptr<Session> const& session) {
        ::pollfd ended{session->process.get(), POLLIN, 0};
        bool const process_ended = ::poll(&ended, 1, 0) == 1;
        bool const stranger = session->name.empty() && now - session->came > longest_store_silence;
        if (stranger) log(*session, "dropped, since it has not said who it is");
        if (!session->over && !process_ended && !stranger) return false;
        table_->leave(session->who.number);
        return true;
    });
}

void StoreThread::send(Session& session, std::uint32_t id, store::Message const& message,
                       std::vector<int> const& descriptors) {
    try {
        auto const bytes = store::encode(id, message);
        if (!session.socket.send(store_call, bytes, descriptors)) session.over = true;
    } catch (std::exception const& error) {  // or no memory
        log(session,
            fmt::format("dropped, since it does not read what it is sent: {}", error.what()));
        session.over = true;
    }
}

void StoreThread::refuse(Session& session, std::uint32_t id, RefusalReason reason,
                         std::string text) {
    log(session, fmt::format("refused ({}): {}", to_string(reason), text));
    send(session, id, store::Refused{reason, std::move(text)});
}

void StoreThread::log(Session const& session, std::string_view what) const noexcept {
    try {
        std::string const line =
            fmt::format("carillon: {}: {}, process {} of user {}: {}", path_.string(),
                        session.name.empty() ? "somebody" : session.name, session.who.process,
                        session.who.user, what);
        if (options_.log) {
            options_.log(line);
        } else {
            std::fputs((line + '\n').c_str(), stderr);
        }
    } catch (...) {  // the line is lost
    }
}

}  // namespace carillon::detail
