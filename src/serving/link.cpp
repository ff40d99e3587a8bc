// SPDX-License-Identifier: Apache-2.0
#include "serving/link.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <new>
#include <utility>

#include "carillon/detail/host/deadline.hpp"
#include "serving/buffer_access.hpp"
#include "serving/client_session.hpp"

namespace carillon::detail {
namespace {

// Short enough for the small-string buffer: assigning it must not allocate.
constexpr char const* no_memory = "no memory left";
// How often a reader looks whether all is answered while a kernel drains, and otherwise.
constexpr std::chrono::milliseconds drain_period{1};
constexpr std::chrono::milliseconds quiet_period{1000};
// A reader takes so many messages before it looks at all else: an owner may send for ever.
constexpr unsigned messages_at_once = 64;
// More messages than any owner lends to one connection unasked, or than wait for one that reads.
constexpr std::size_t most_waiting = std::size_t{1} << 16;

bool is_news(Message const& message) {
    return std::holds_alternative<LentBuffer>(message) ||
           std::holds_alternative<MissedBuffers>(message) ||
           std::holds_alternative<SealedBuffer>(message);
}

}  // namespace

OwnerAnswer Link::ask(Message const& question, Deadline const& deadline,
                      std::function<void()> const& meanwhile) {
    Lock lock(mutex_);
    std::uint32_t const id = begin(question);
    try {
        if (meanwhile) {
            lock.unlock();
            meanwhile();
            lock.lock();
        }
        (void)await(lock, deadline, [&] { return awaited_[id].has_value(); });
    } catch (...) {
        if (!lock) lock.lock();
        awaited_.erase(id);
        give_up(id, question);
        throw;
    }
    std::optional<OwnerAnswer> answer = std::move(awaited_[id]);
    awaited_.erase(id);
    if (answer) {
        auto const* refused = std::get_if<Refused>(&answer->message);
        if (refused != nullptr) throw RefusedError(refused->reason, refused->text);
        return std::move(*answer);
    }
    require_connected(lock);
    give_up(id, question);
    throw TimeoutError(
        fmt::format("the owner has not answered within {} (the option timeout): it may be stopped",
                    duration_text(options_.timeout)));
}

std::uint32_t Link::begin(Message const& question) {
    auto const* const attach = std::get_if<Attach>(&question);
    auto const same = std::ranges::find_if(given_up_, [&](auto const& each) {
        return attach != nullptr && encode(0, each.second) == encode(0, *attach);
    });
    if (same != given_up_.end()) {
        std::uint32_t const id = same->first;
        awaited_[id];
        given_up_.erase(same);
        return id;
    }
    std::uint32_t const id = ++last_id_;
    awaited_[id];
    wants_news_ |= std::holds_alternative<WatchBuffers>(question);
    send(id, question);  // if the owner has gone, the wait finds that
    return id;
}

void Link::give_up(std::uint32_t id, Message const& question) {
    bool const was_sent =
        std::erase_if(untold_, [&](Untold const& each) { return each.id == id; }) == 0;
    auto const* const attach = std::get_if<Attach>(&question);
    if (was_sent && attach != nullptr) given_up_.emplace(id, *attach);
    watch_room();
}

bool Link::say(Message const& message) noexcept {
    if (untold_.size() >= most_waiting) return false;  // an owner that reads nothing gets no more
    try {
        send(0, message);
        return true;
    } catch (std::exception const&) {  // the owner sees the connection close, in the end
        return false;
    }
}

void Link::flush() {
    try {
        while (!untold_.empty()) {
            (void)socket_.send(untold_.front().bytes);
            untold_.pop_front();
        }
    } catch (SystemError const& error) {
        if (!is_out_of_room(error.code())) untold_.pop_front();
    }
    watch_room();
}

template <class There>
bool Link::await(Lock& lock, Deadline const& deadline, There const& there) {
    Deadline const spin_end(options_.spin);
    for (;;) {
        if (there() || over()) return true;
        if (reads_) {
            if (deadline.passed()) return false;
            changed_.wait_until(lock, deadline.at());
            continue;
        }
        flush();
        bool const more = receive(there);
        if (there() || over()) return true;
        if (deadline.passed()) return false;
        if (more || !spin_end.passed()) {
            auto const enough = [&] {
                return there() || over() || spin_end.passed() || deadline.passed();
            };
            ::pollfd socket{socket_.fd(), POLLIN, 0};
            do {
                lock.unlock();
                (void)::poll(&socket, 1, 0);
                lock.lock();
            } while (socket.revents == 0 && !enough());
        } else {
            sleep(lock, deadline, there);
        }
    }
}

template <class There>
void Link::sleep(Lock& lock, Deadline const& deadline, There const& there) {
    auto const events = static_cast<short>(untold_.empty() ? POLLIN : POLLIN | POLLOUT);
    std::array<::pollfd, 3> watched{
        {{wakeup_.fd(), POLLIN, 0}, {socket_.fd(), events, 0}, {owners_end_.get(), POLLIN, 0}}};
    reads_ = true;
    // A thread that waits reads after this one, however it ends: it may be cancelled in poll().
    auto const let_others_read = [&lock](Link* link) {
        if (!lock) lock.lock();
        link->reads_ = false;
        link->changed_.notify_all();
    };
    std::unique_ptr<Link, decltype(let_others_read)> const reader(this, let_others_read);
    lock.unlock();
    (void)::poll(watched.data(), watched.size(), poll_period(deadline));
    lock.lock();
    if (watched[0].revents != 0) wakeup_.reset();
    flush();
    // It first hears what the owner had sent before it ended.
    if (!receive(there) && watched[2].revents != 0) lose_owner("the owner has ended");
}

// Messages behind the one for which a caller waits stay in the socket, with their descriptors.
template <class There>
bool Link::receive(There const& there) {
    for (unsigned i = 0; i < messages_at_once && gone_.empty(); ++i) {
        try {
            Received received = socket_.receive();
            if (std::holds_alternative<NothingThere>(received)) return false;
            if (std::holds_alternative<PeerClosed>(received)) {
                lose_owner("the owner has closed the connection");
                return true;
            }
            hear(std::get<SocketMessage>(std::move(received)));
            if (there()) return true;
        } catch (VersionError const& error) {  // it refuses, in words of its own
            refused_ = {RefusalReason::version, std::string(error.cause())};
            lose_owner({});
        } catch (ProtocolError const& error) {
            lose_owner(fmt::format("the process at the socket does not speak the protocol: {}",
                                   error.cause()),
                       true);
        } catch (Error const& error) {
            lose_owner(fmt::format("a message from the owner was lost: {}", error.what()));
        } catch (std::exception const&) {
            lose_owner(no_memory);
        }
    }
    return true;
}

void Link::hear(SocketMessage received) {
    // An answer whose descriptors are lost reaches its caller without them.
    Decoded decoded = decode(received.bytes, received.descriptors_lost
                                                 ? std::nullopt
                                                 : std::optional(received.descriptors.size()));
    OwnerAnswer answer{std::move(decoded.message), std::move(received.descriptors)};
    given_up_.erase(decoded.id);
    auto const awaited = awaited_.find(decoded.id);
    if (awaited == awaited_.end()) return hear_unasked(decoded.id, std::move(answer));
    awaited->second = std::move(answer);
    changed_.notify_all();
}

void Link::hear_unasked(std::uint32_t id, OwnerAnswer answer) {
    if (id == 0) {
        if (auto* const refused = std::get_if<Refused>(&answer.message)) {
            refused_ = std::move(*refused);
            return changed_.notify_all();
        }
        auto const* const notice = std::get_if<Notice>(&answer.message);
        if (notice != nullptr && listener_ != nullptr) return listener_->hear(*notice);
        auto const* const ended = std::get_if<Ended>(&answer.message);
        if (ended != nullptr && listener_ != nullptr) return listener_->hear(*ended);
    }
    if (id != 0 || !wants_news_ || !is_news(answer.message)) return give_back(answer);
    if (news_.size() == most_waiting) {
        throw ProtocolError("the owner lent more unrequested buffers than allowed");
    }
    if (std::holds_alternative<LentBuffer>(answer.message)) ++came_unasked_;
    news_.push_back(std::move(answer));
    watch_room();
    changed_.notify_all();
}

void Link::give_back(OwnerAnswer const& answer) noexcept {
    if (auto const* attached = std::get_if<Attached>(&answer.message)) {
        (void)say(Detach{attached->lease});
    } else if (auto const* lent = std::get_if<LentBuffer>(&answer.message)) {
        (void)say(ReleaseBuffer{lent->info.id});
        if (lent->descriptor) (void)say(ForgetMemory{lent->memory_number});
    }
}

std::optional<OwnerAnswer> Link::next_news(Deadline const& deadline) {
    Lock lock(mutex_);
    (void)await(lock, deadline, [&] { return !news_.empty(); });
    if (news_.empty()) {
        require_connected(lock);
        return {};
    }
    std::optional<OwnerAnswer> first = std::move(news_.front());
    news_.pop_front();
    watch_room();
    return first;
}

int Link::descriptor() {
    Lock const lock(mutex_);
    if (watched_.get() >= 0) return watched_.get();
    FileDescriptor made(::epoll_create1(EPOLL_CLOEXEC));
    ::epoll_event event{};
    event.events = EPOLLIN;
    if (made.get() < 0 || ::epoll_ctl(made.get(), EPOLL_CTL_ADD, socket_.fd(), &event) != 0) {
        throw SystemError("epoll", errno);
    }
    watched_ = std::move(made);
    watch_room();
    return watched_.get();
}

// Nothing else wakes the program for news that are already here, and there is nearly always room.
void Link::watch_room() noexcept {
    bool const wanted = !untold_.empty() || !news_.empty();
    if (watched_.get() < 0 || watches_room_ == wanted) return;
    watches_room_ = wanted;
    ::epoll_event event{};
    event.events = watches_room_ ? EPOLLIN | EPOLLOUT : EPOLLIN;
    (void)::epoll_ctl(watched_.get(), EPOLL_CTL_MOD, socket_.fd(), &event);
}

void Link::lose_owner(std::string why, bool talks_nonsense) noexcept {
    talks_nonsense_ |= talks_nonsense && !over();
    try {
        if (gone_.empty() && refused_) gone_ = refused_->text;
        if (gone_.empty()) gone_ = std::move(why);
        if (gone_.empty()) gone_ = "refused";
    } catch (std::bad_alloc const&) {
        gone_ = no_memory;
    }
    if (listener_ != nullptr) listener_->lose_owner();
    changed_.notify_all();
}

void Link::listen(ClientSession& listener) {
    Lock const lock(mutex_);
    listener_ = &listener;
    if (thread_.joinable()) return;
    thread_ = start_thread("carillon-client", [this](std::stop_token const& stop) { run(stop); });
}

void Link::stop_listening() noexcept {
    {
        Lock const lock(mutex_);
        listener_ = nullptr;
    }
    thread_.request_stop();
    wakeup_.wake();
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void Link::run(std::stop_token const& stop) {
    Lock lock(mutex_);
    auto period = quiet_period;
    while (!stop.stop_requested() && listener_ != nullptr && gone_.empty()) {
        try {
            if (reads_) {
                changed_.wait_for(lock, period);
            } else {
                sleep(lock, Deadline(period), [] { return false; });
            }
            period =
                listener_ != nullptr && listener_->tell_drained(lock) ? drain_period : quiet_period;
        } catch (std::exception const&) {
            lose_owner(no_memory);
        }
    }
}

}  // namespace carillon::detail
