// SPDX-License-Identifier: Apache-2.0
#include "serving/store_thread.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <utility>

#include "carillon/detail/host/start_thread.hpp"
#include "carillon/error.hpp"

namespace carillon::detail {
namespace {

constexpr char const* store_call = "StoreServer";
constexpr std::chrono::milliseconds store_period{200};
constexpr std::chrono::milliseconds retry_period{5};  // what a client has read is not told
constexpr std::chrono::milliseconds longest_store_spin{100};

StoreServeOptions checked_serve(StoreServeOptions options) {
    if (options.buffers_per_connection == 0) {
        throw UsageError(
            store_call,
            "StoreServeOptions::buffers_per_connection of 0: nobody could ever get a buffer");
    }
    options.spin = std::min<std::chrono::nanoseconds>(spin_time(options.spin), longest_store_spin);
    return options;
}

ReceptionRules rules_of_store(StoreServeOptions const& options) {
    return {"StoreServeOptions",
            options.name,
            options.mode,
            options.users,
            options.groups,
            options.connections,
            options.connections_per_user,
            options.log};
}

// Never that of another connection of this process, whichever store it is to.
HolderNumber new_holder() {
    static std::atomic<HolderNumber> last = own_process;
    return last.fetch_add(1) + 1;
}

}  // namespace

StoreThread::StoreThread(std::filesystem::path const& path, std::shared_ptr<BufferTable> table,
                         StoreServeOptions const& options)
    : table_(std::move(table)),
      options_(checked_serve(options)),
      reception_(store_call, path, rules_of_store(options)),
      follower_(store_call, table_) {
    if (std::string const why = table_->why_fewer_buffers(); !why.empty()) reception_.log(why);
    thread_ = start_thread("carillon-store", [this](std::stop_token const& stop) { serve(stop); });
}

StoreThread::~StoreThread() {
    thread_.request_stop();
    follower_.wakeup().wake();
    if (thread_.joinable()) thread_.join();
}

std::shared_ptr<StoreThread> StoreThread::make(std::filesystem::path const& path,
                                               std::shared_ptr<BufferTable> table,
                                               StoreServeOptions const& options) {
    return {new StoreThread(path, std::move(table), options), LetServerGo()};
}

std::vector<StoreClient> StoreThread::clients() const {
    std::lock_guard const lock(mutex_);
    std::vector<StoreClient> all;
    for (auto const& session : sessions_) {
        if (session->name.empty()) continue;
        all.push_back({session->name, session->peer.pid, session->peer.uid, session->holds});
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
        reception_.say_lines();
    }
    reception_.say_lines(true);
    leave();
    if (deletes_itself_) delete this;
}

void StoreThread::leave() {
    std::lock_guard const lock(mutex_);
    for (auto const& session : sessions_) table_->leave(session->who.number);
    sessions_.clear();
    reception_.close();
}

void StoreThread::take_turn() {
    std::vector<::pollfd> descriptors = watched();
    await(descriptors);
    if (descriptors[0].revents != 0) follower_.wakeup().reset();
    if (table_->closed()) return;
    std::lock_guard const lock(mutex_);
    auto rest = std::span<::pollfd const>(descriptors).subspan(2);
    for (auto const& session : sessions_) reception_.heed(*session, rest);
    reception_.accept_all(descriptors[1], [&](UnixSocket socket) { accept(std::move(socket)); });
    for (auto const& session : sessions_) receive_from(*session);
    drop_over();
    for (auto const& session : sessions_) tell_sealed(*session);
}

void StoreThread::await(std::vector<::pollfd>& descriptors) const {
    while (Clock::now() < awake_until_) {
        if (::poll(descriptors.data(), descriptors.size(), 0) != 0) return;
    }
    bool const retries =
        std::ranges::any_of(sessions_, [](auto const& session) { return session->waits; });
    auto const period = retries ? retry_period : store_period;
    (void)::poll(descriptors.data(), descriptors.size(), static_cast<int>(period.count()));
}

std::vector<::pollfd> StoreThread::watched() const {
    std::vector<::pollfd> all{{follower_.wakeup().fd(), POLLIN, 0}, reception_.listening()};
    for (auto const& session : sessions_) Reception::watch(all, *session);
    return all;
}

void StoreThread::accept(UnixSocket socket) {
    sessions_.push_back(std::make_unique<Session>(std::move(socket)));
    Session& session = *sessions_.back();
    if (auto refusal = reception_.admit(session)) {
        refuse(session, 0, std::move(*refusal));
        return sessions_.pop_back();
    }
    session.who = {new_holder(), session.peer.pid, session.peer.uid};
}

void StoreThread::receive_from(Session& session) {
    reception_.receive_from(
        session,
        [&](SocketMessage const& message) {
            awake_until_ = Clock::now() + options_.spin;
            auto const decoded = store::decode(message.bytes, message.descriptors.size());
            handle(session, decoded.id, decoded.message);
        },
        [&](Refusal refusal) { refuse(session, 0, std::move(refusal)); });
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
            table_->seal(session.who, seal->buffer, &follower_.wakeup());
            // First, since they wait for the buffer, and its maker for nothing.
            for (auto const& each : sessions_) tell_sealed(*each);
            send(session, id, store::Done{});
        } else if (auto const* released = std::get_if<store::Release>(&message)) {
            (void)release(session, released->buffer);
        } else if (auto const* unmapped = std::get_if<store::Unmapped>(&message)) {
            if (!release(session, unmapped->buffer)) return;
            reception_.log(session, fmt::format("could not map the buffer number {}: {}",
                                                unmapped->buffer, unmapped->text));
        } else if (auto const* forget = std::get_if<store::Forget>(&message)) {
            table_->forget(session.who.number, forget->memory);
        } else if (auto const* remove = std::get_if<store::Remove>(&message)) {
            send(session, id,
                 store::Done{table_->remove(session.who, {remove->buffer, remove->name})});
        } else if (auto const* next = std::get_if<store::Next>(&message)) {
            answer(session, id, *next);
        } else if (auto const* watch = std::get_if<store::Watch>(&message)) {
            answer(session, id, *watch);
        } else if (auto const* show = std::get_if<store::Show>(&message)) {
            answer(session, id, *show);
        } else {
            throw ProtocolError(store_call, "a message that only a store sends");
        }
    } catch (Refusal const& refusal) {
        refuse(session, id, refusal);
    }
}

void StoreThread::answer(Session& session, std::uint32_t id, store::Hello const& hello) {
    session.name = hello.name;
    send(session, id,
         store::Welcome{static_cast<std::uint32_t>(::getpid()), reception_.instance(),
                        options_.name});
}

void StoreThread::answer(Session& session, std::uint32_t id, store::Create const& create) {
    require_hold(session);
    try {
        lend(session, id,
             table_->create(session.who, create.name, create.bytes, create.host_memory));
    } catch (Error const& error) {  // of the device, or the system
        throw refusal_of(error);
    }
}

void StoreThread::answer(Session& session, std::uint32_t id, store::Get const& get) {
    require_hold(session);
    try {
        lend(session, id, table_->get(session.who, {get.buffer, get.name}));
    } catch (Error const& error) {  // no descriptor is left
        throw refusal_of(error);
    }
}

void StoreThread::answer(Session& session, std::uint32_t id, store::Watch const& watch) {
    session.news = watch.news;
    session.next_sealed = table_->sealed_so_far();
    take_back_unread(session, watch.came);
    send(session, id, store::Done{});
}

void StoreThread::answer(Session& session, std::uint32_t id, store::Show const& show) {
    auto const memory = table_->memory_of(session.who, show.buffer);
    require_read(session);
    try {
        FileDescriptor const shown = memory->export_fd();
        (void)table_->tell(session.who, *memory);
        reception_.lend(session, store::encode(id, store::Shown{memory->number()}),
                        std::array{shown.get()});
    } catch (Error const& error) {  // no descriptor is left
        throw refusal_of(error);
    }
}

void StoreThread::lend(Session& session, std::uint32_t id, LentBuffer const& lent) {
    Lending const lending = lending_of(session, lent);
    try {
        reception_.lend(session, store::encode(id, lending.message), lending.descriptors);
    } catch (...) {
        take_back(session, lending.message);
        throw;
    }
}

StoreThread::Lending StoreThread::lending_of(Session& session, LentBuffer const& lent) {
    ++session.holds;
    Device const& device = table_->device();
    BufferInfo const& info = lent.info;
    Lending lending;
    store::Lent& message = lending.message;
    message.buffer = info.id;
    message.bytes = info.size;
    message.sealed = info.sealed;
    message.memory = lent.memory->number();
    message.memory_bytes = lent.memory->size();
    message.source = lent.memory->of_host() ? MemorySource::host : device.info().memory_source;
    if (!lent.memory->of_host()) {
        message.uuid = uuid_of(device.info());
        message.write_combining = device.traits().write_combining;
    }
    try {
        message.name = info.name;
        message.descriptor = table_->tell(session.who, *lent.memory);
        if (message.descriptor) {
            lending.memory = lent.memory->export_fd();
            lending.descriptors.push_back(lending.memory.get());
        }
    } catch (...) {
        take_back(session, message);
        throw;
    }
    return lending;
}

void StoreThread::take_back(Session& session, store::Lent const& lent) noexcept {
    if (lent.descriptor) table_->forget(session.who.number, lent.memory);
    (void)release(session, lent.buffer);
}

bool StoreThread::release(Session& session, std::uint64_t buffer) noexcept {
    if (!table_->release(session.who.number, buffer)) return false;
    --session.holds;
    session.unasked.erase(buffer);
    return true;
}

void StoreThread::take_back_unread(Session& session, std::uint64_t came) noexcept {
    for (auto each = session.unasked.begin(); each != session.unasked.end();) {
        auto const [buffer, unasked] = *each++;
        if (unasked.number <= came) continue;
        if (unasked.descriptor) table_->forget(session.who.number, unasked.memory);
        (void)release(session, buffer);
    }
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

void StoreThread::require_hold(Session& session) const {
    if (session.holds >= options_.buffers_per_connection) {
        throw Refusal{RefusalReason::too_many_of_client,
                      fmt::format("the connection holds {} buffers already", session.holds)};
    }
    require_read(session);
}

void StoreThread::require_read(Session& session) const {
    if (auto const refusal = reception_.require_read(session, 1)) throw Refusal(*refusal);
}

// As many as there is room for; the others then.
void StoreThread::tell_sealed(Session& session) {
    session.waits = false;
    try {
        while (session.news != store::SealedNews::none && !session.over && session.unsent.empty()) {
            std::uint64_t after = session.next_sealed;
            auto const found = table_->sealed(after);
            if (!found) return tell_missed(session);
            if (session.news == store::SealedNews::words) {
                send(session, 0, store::Sealed{found->id, found->name, found->size, found->missed});
            } else if (session.holds >= options_.buffers_per_connection) {
                return;
            } else if (!lend_sealed(session, *found)) {
                session.waits = true;
                return;
            }
            session.next_sealed = after;
        }
    } catch (std::bad_alloc const&) {  // in another turn
    }
}

// Else it would hear of those with the next buffer, which may never come.
void StoreThread::tell_missed(Session& session) {
    if (session.missed == 0) return;
    send(session, 0, store::Missed{session.missed});
    session.missed = 0;
}

bool StoreThread::lend_sealed(Session& session, SealedBuffer const& sealed) {
    if (reception_.require_read(session, 1)) return false;
    std::uint64_t const missed = session.missed + sealed.missed;
    Lending lending;
    try {
        lending = lending_of(session, table_->get(session.who, {sealed.id}));
    } catch (Refusal const&) {  // it was removed
        session.missed = missed + 1;
        return true;
    } catch (SystemError const& error) {  // no descriptor is left
        if (is_out_of_room(error.code())) return false;
        reception_.log(session,
                       fmt::format("not lent the buffer number {}: {}", sealed.id, error.what()));
        session.missed = missed + 1;
        return true;
    }
    lending.message.missed = missed;
    store::Lent const& lent = lending.message;
    try {
        session.unasked[lent.buffer] = {session.lent_unasked + 1, lent.memory, lent.descriptor};
        reception_.lend(session, store::encode(0, lent), lending.descriptors);
    } catch (Refusal const&) {
        take_back(session, lending.message);
        return false;
    } catch (...) {
        take_back(session, lending.message);
        throw;
    }
    ++session.lent_unasked;
    session.missed = 0;
    return true;
}

void StoreThread::drop_over() {
    std::erase_if(sessions_, [&](std::unique_ptr<Session> const& session) {
        if (!reception_.has_gone(*session)) return false;
        table_->leave(session->who.number);
        reception_.forget(*session);
        return true;
    });
}

void StoreThread::send(Session& session, std::uint32_t id, store::Message const& message) {
    reception_.send(session, [&] { return store::encode(id, message); });
}

void StoreThread::refuse(Session& session, std::uint32_t id, Refusal refusal) {
    reception_.log_refused(session, refusal);
    send(session, id, store::Refused{refusal.reason, std::move(refusal.text)});
}

}  // namespace carillon::detail
