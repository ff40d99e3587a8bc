// SPDX-License-Identifier: Apache-2.0
// The thread that lets clients of other processes in to what a Server serves: kernels, objects and
// a store of buffers.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "carillon/detail/host/owned.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/thread.hpp"
#include "carillon/error.hpp"
#include "carillon/server.hpp"
#include "carillon/store.hpp"
#include "serving/buffer_service.hpp"
#include "serving/client_messages.hpp"
#include "serving/object_service.hpp"
#include "serving/reception.hpp"
#include "serving/session.hpp"

namespace carillon {
namespace detail {
namespace {

constexpr std::chrono::milliseconds idle_period{200};
constexpr std::chrono::milliseconds retry_period{5};

}  // namespace

// No client keeps it from another, whatever it sends or leaves undone: it blocks in poll() alone
// (and where a store makes memory of a GPU), takes a bounded number of messages of each client in
// turn, reads none of a client that does not read what it was sent, and drops a client that breaks
// the protocol. Neither copied nor moved.
class Endpoint {
   public:
    // Throws as Server's constructor.
    [[nodiscard]] static std::shared_ptr<Endpoint> make(ServeOptions const& options) {
        return {new Endpoint(options), &let_go};
    }
    // Throws as Server::open().
    void open(std::filesystem::path const& path) {
        std::lock_guard const lock(mutex_);
        if (thread_.joinable()) {
            throw UsageError(
                fmt::format("the server is already open at {}", reception_.path().string()));
        }
        reception_.open(path);
        try {
            if (buffers_) buffers_->log_limits();
            thread_ = start_thread("carillon-server",
                                   [this](std::stop_token const& stop) { serve(stop); });
        } catch (...) {  // nobody would ever answer who connects
            reception_.undo_open();
            throw;
        }
    }

    // Throws UsageError for the name, and if another object has it that has not ended.
    void add(std::unique_ptr<ServedItem> object) {
        std::vector<std::unique_ptr<ServedItem>> unused;  // destroyed without the lock
        std::lock_guard const lock(mutex_);
        unused = objects_.add(std::move(object));
        wakeup_.wake();
    }
    // Throws UsageError if it has a store.
    void add(std::shared_ptr<BufferTable> store) {
        std::lock_guard const lock(mutex_);
        if (buffers_) throw UsageError("the server already has a store");
        buffers_.emplace(std::move(store), options_, reception_, sessions_, wakeup_);
        if (thread_.joinable()) buffers_->log_limits();
    }

    void require_own() const { mark_.require_own(); }
    [[nodiscard]] std::filesystem::path const& path() const { return reception_.path(); }
    [[nodiscard]] std::vector<ConnectedClient> clients() const {
        std::lock_guard const lock(mutex_);
        std::vector<ConnectedClient> all;
        for (auto const& session : sessions_) {
            if (session->name.empty()) continue;
            ConnectedClient client{
                session->name, session->peer.pid, session->peer.uid, {}, session->holds};
            for (auto const& [lease, held] : session->leases) {
                if ((*held.object)->kind() != ObjectKind::kernel) continue;
                client.blocks.push_back(held.place);
            }
            all.push_back(std::move(client));
        }
        return all;
    }

   private:
    using Clock = std::chrono::steady_clock;

    explicit Endpoint(ServeOptions const& options)
        : options_(checked_serve(options)),
          reception_(options_),
          objects_(options_, reception_, sessions_) {}
    ~Endpoint() {
        thread_.request_stop();
        wakeup_.wake();
        if (thread_.joinable()) thread_.join();
    }
    // Ends an endpoint in the process that made it. A function of the program's that the thread
    // calls may do so. The thread cannot wait for itself: it deletes the endpoint as it ends.
    static void let_go(Endpoint* endpoint) noexcept {
        if (endpoint->mark_.inherited()) return;
        if (!endpoint->thread_.is_current()) return delete endpoint;
        endpoint->thread_.request_stop();
        endpoint->thread_.detach();
        endpoint->reception_.close();
        endpoint->deletes_itself_ = true;
    }

    void serve(std::stop_token const& stop) {
        for (unsigned turn = 0; !stop.stop_requested(); ++turn) {
            try {
                take_turn(turn);
            } catch (std::exception const&) {  // no memory: the next turn does the rest
                std::this_thread::sleep_for(retry_period);
            }
            reception_.say_lines();
        }
        reception_.say_lines(true);
        {
            std::lock_guard const lock(mutex_);
            for (auto const& session : sessions_) leave(*session);
            sessions_.clear();
            reception_.close();
        }
        if (deletes_itself_) delete this;
    }
    void take_turn(unsigned turn) {
        std::vector<::pollfd> descriptors = watched();
        await(descriptors);
        if (descriptors[0].revents != 0) wakeup_.reset();
        std::lock_guard const lock(mutex_);
        if (buffers_ && buffers_->closed()) return lose_store();
        auto rest = std::span<::pollfd const>(descriptors).subspan(2);
        for (auto const& session : sessions_) reception_.handle_events(*session, rest);
        reception_.accept_all(descriptors[1],
                              [&](UnixSocket socket) { accept(std::move(socket)); });
        objects_.take_back_former();
        for (auto const& session : sessions_) {
            reception_.receive_from(*session, [&](Decoded const& decoded) {
                handle(*session, decoded.id, decoded.message);
            });
        }
        objects_.watch(turn);
        drop_over();  // before others are lent what those had
        objects_.lend();
        if (buffers_) buffers_->tell_sealed();
    }
    void await(std::vector<::pollfd>& descriptors) const {
        auto const longest = period();
        auto const end = std::min(awake_until_, Clock::now() + longest);
        while (Clock::now() < end) {
            if (::poll(descriptors.data(), descriptors.size(), 0) != 0) return;
        }
        int const sleeps = end < awake_until_ ? 0 : static_cast<int>(longest.count());
        (void)::poll(descriptors.data(), descriptors.size(), sleeps);
    }
    [[nodiscard]] std::chrono::milliseconds period() const {
        std::lock_guard const lock(mutex_);
        auto const period = std::min(idle_period, objects_.period());
        // No event says that a client has read what it was sent.
        bool const waits = std::ranges::any_of(sessions_, &Session::waits_for_room,
                                               [](auto const& each) -> Session& { return *each; });
        return waits ? std::min(period, retry_period) : period;
    }
    [[nodiscard]] std::vector<::pollfd> watched() const {
        std::vector<::pollfd> all{{wakeup_.fd(), POLLIN, 0}, reception_.listening()};
        for (auto const& session : sessions_) Reception::watch(all, *session);
        return all;
    }
    void accept(UnixSocket socket) {
        sessions_.push_back(std::make_unique<Session>(std::move(socket)));
        Session& session = *sessions_.back();
        if (auto refusal = reception_.admit(session)) {
            reception_.refuse(session, 0, std::move(*refusal));
            return sessions_.pop_back();
        }
        session.who = {new_holder(), session.peer.pid, session.peer.uid};
    }
    void handle(Session& session, std::uint32_t id, Message const& message) {
        if (session.name.empty() != std::holds_alternative<Hello>(message)) {
            throw ProtocolError("a client must say hello first, and only once");
        }
        try {
            std::visit(
                [&](auto const& said) {
                    if constexpr (requires { answer(session, id, said); }) {
                        answer(session, id, said);
                    } else if constexpr (requires { objects_.answer(session, id, said); }) {
                        objects_.answer(session, id, said);
                    } else if constexpr (requires { buffers_->answer(session, id, said); }) {
                        BufferService& service = buffers();
                        awake_until_ = Clock::now() + options_.spin;
                        session.uses_buffers = true;
                        service.answer(session, id, said);
                    } else {
                        throw ProtocolError("only an owner sends this message");
                    }
                },
                message);
        } catch (Refused const& refusal) {
            reception_.refuse(session, id, refusal);
        } catch (ProtocolError const&) {
            throw;
        } catch (Error const& error) {  // of the device, or the system: no descriptor is left
            reception_.refuse(session, id, refusal_of(error));
        }
    }
    void answer(Session& session, std::uint32_t id, Hello const& hello) {
        session.name = hello.name;
        reception_.send(session, id,
                        Welcome{{reception_.name(), ::getpid(), reception_.instance()}});
    }
    void answer(Session& session, std::uint32_t id, Look const& look) {
        Seen seen = objects_.look(look);
        if (buffers_) seen.store = buffers_->status();
        reception_.send(session, id, seen);
    }
    // The store of an endpoint. Throws Refused if it has none.
    [[nodiscard]] BufferService& buffers() {
        if (!buffers_)
            throw_refused(RefusalReason::unknown_object, "the owner serves no store of buffers");
        return *buffers_;
    }
    void drop_over() {
        std::erase_if(sessions_, [&](std::unique_ptr<Session> const& session) {
            if (!reception_.has_gone(*session)) return false;
            leave(*session);
            reception_.forget(*session);
            return true;
        });
    }
    void leave(Session& session) noexcept {
        objects_.leave(session);
        if (buffers_) buffers_->leave(session);
    }
    // The program has destroyed the store: its clients are dropped. If nothing else was served, the
    // path is free.
    void lose_store() {
        bool const served_others = !objects_.empty();
        for (auto const& session : sessions_) {
            if (!served_others || session->uses_buffers) session->over = true;
        }
        drop_over();
        buffers_.reset();
        if (!served_others) reception_.close();
    }

    ProcessMark mark_;
    ServeOptions options_;
    Reception reception_;
    Wakeup wakeup_;
    mutable std::mutex mutex_;  // for all that follows
    Sessions sessions_;
    ObjectService objects_;
    std::optional<BufferService> buffers_;
    Clock::time_point awake_until_{};  // the thread's own
    bool deletes_itself_ = false;      // the thread's own
    Thread thread_;
};

}  // namespace detail

using detail::Endpoint;
using detail::in_call_to;

namespace {

ServeOptions with_name(ServeOptions options, std::string_view name) {
    if (!options.name) options.name.emplace(name);
    return options;
}

}  // namespace

Server::Server(ServeOptions const& options) try
    : endpoint_(detail::Endpoint::make(with_name(options, "kernel"))) {
} catch (...) {
    detail::throw_named("Server");
}
Server::Server(PathArgument const& path, ServeOptions const& options) try : Server(options) {
    open(path);
} catch (...) {
    detail::throw_named("Server");
}

void Server::open(PathArgument const& path) {
    in_call_to("Server::open", endpoint_, &Endpoint::open, path);
}

void Server::add(Store const& store) {
    in_call_to("Server::add", endpoint_, [&](Endpoint& endpoint) {
        endpoint.add(detail::owned_here(store.access_).table());
    });
}

std::filesystem::path const& Server::path() const {
    return in_call_to("Server::path", endpoint_, &Endpoint::path);
}
std::vector<ConnectedClient> Server::clients() const {
    return in_call_to("Server::clients", endpoint_, &Endpoint::clients);
}

namespace detail {

Server ServerMaker::make(std::filesystem::path const& path, std::shared_ptr<Lendable> kernel,
                         ServeOptions const& options, std::string_view name) {
    Server server(with_name(options, name));
    add(server, name, std::move(kernel));
    server.open(path);
    return server;
}

void ServerMaker::add(Server& server, std::string_view name, std::shared_ptr<Lendable> object) {
    owned_here(server.endpoint_).add(std::make_unique<ServedItem>(name, std::move(object)));
}

}  // namespace detail
}  // namespace carillon
