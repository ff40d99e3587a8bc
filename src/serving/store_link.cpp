// SPDX-License-Identifier: Apache-2.0
#include "serving/store_link.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <utility>

#include "carillon/error.hpp"
#include "serving/buffer_access.hpp"

namespace carillon::detail {
namespace {

constexpr char const* link_call = "StoreConnection";

// More than any store lends to one connection unasked, or than wait to be told to one that reads.
constexpr std::size_t most_waiting = std::size_t{1} << 16;

// That is for receive().
bool is_of_sealed(Message const& message) {
    return std::holds_alternative<LentBuffer>(message) ||
           std::holds_alternative<MissedBuffers>(message);
}

}  // namespace

StoreLink::StoreLink(ReachedOwner store, std::chrono::nanoseconds spin)
    : socket_(std::move(store.socket)), stores_end_(std::move(store.end)), spin_(spin_time(spin)) {
    owner_.user = store.user;
}

StoreLink::StoreLink(std::filesystem::path const& path, StoreConnectOptions const& options)
    : StoreLink(reach_owner(link_call, path, options.timeout, options.owner_user), options.spin) {
    introduce(options.name, Deadline(options.timeout));
}

StoreLink StoreLink::connect(std::filesystem::path const& path,
                             StoreConnectOptions const& options) {
    OwnerWait const wait(options.wait_for_owner);
    for (;;) {
        try {
            return {path, options};
        } catch (Error const&) {
            wait.before_next_connection();
        }
    }
}

void StoreLink::introduce(std::string const& name, Deadline const& deadline) {
    StoreAnswer const answer = ask(link_call, Hello{name}, deadline);
    auto const* welcome = std::get_if<Welcome>(&answer.message);
    if (welcome == nullptr) throw ProtocolError(link_call, "the store does not say welcome");
    owner_.name = welcome->name;
    owner_.process = static_cast<std::int32_t>(welcome->process);
    owner_.instance = welcome->instance;
}

void StoreLink::lose_store(std::string_view call, std::string why) {
    if (gone_.empty()) gone_ = std::move(why);
    throw OwnerGoneError(call, gone_);
}

void StoreLink::require_store(std::string_view call) const {
    if (socket_.is_closed()) throw OwnerGoneError(call, closed);
    if (await(Deadline(std::chrono::nanoseconds(0)), false)) {
        throw OwnerGoneError(call, process_ended);
    }
}

StoreAnswer StoreLink::ask(std::string_view call, Message const& question, Deadline const& deadline,
                           std::function<void()> const& meanwhile) {
    if (!gone_.empty()) lose_store(call, {});
    std::uint32_t const id = ++last_id_;
    send(call, encode(id, question), deadline);
    meanwhile();
    auto const alone = [](auto const& there) { return there(); };
    while (auto came = receive(call, deadline, alone, false)) {
        auto& [of, answer] = *came;
        if (of == id) {
            if (auto const* refused = std::get_if<Refused>(&answer.message)) {
                throw RefusedError(call, refused->reason, refused->text);
            }
            return std::move(answer);
        }
        if (of == 0 && is_of_sealed(answer.message)) {
            if (kept_.size() == most_waiting) {
                throw ProtocolError(call, "the store lends more unasked than it may");
            }
            kept_.push_back(std::move(answer));
            watch_room();
        } else {
            give_back(answer);  // of what was given up: it is of no use to anyone now
        }
    }
    throw TimeoutError(call, "the store has not answered within the time given");
}

void StoreLink::give_back(StoreAnswer const& answer) noexcept {
    auto const* lent = std::get_if<LentBuffer>(&answer.message);
    if (lent == nullptr) return;
    tell(ReleaseBuffer{lent->buffer});
    if (lent->descriptor) tell(ForgetMemory{lent->memory_number});
}

void StoreLink::give_back_kept() noexcept {
    for (StoreAnswer const& each : kept_) give_back(each);
    kept_.clear();
    watch_room();
}

std::optional<std::pair<std::uint32_t, StoreAnswer>> StoreLink::take_kept() {
    if (kept_.empty()) return {};
    StoreAnswer first = std::move(kept_.front());
    kept_.pop_front();
    watch_room();
    return std::pair(0U, std::move(first));
}

void StoreLink::tell(Message const& message) noexcept {
    try {
        auto bytes = encode(0, message);
        flush();
        if (untold_.size() == most_waiting) return;  // a store that reads nothing gets no more
        if (!untold_.empty() || !try_send(link_call, bytes)) untold_.push_back(std::move(bytes));
    } catch (std::exception const&) {  // it sees the connection close, in the end
    }
    watch_room();
}

void StoreLink::flush() {
    if (untold_.empty()) return;
    while (!untold_.empty() && try_send(link_call, untold_.front())) untold_.pop_front();
    watch_room();
}

int StoreLink::descriptor() {
    if (watched_.get() >= 0) return watched_.get();
    FileDescriptor made(::epoll_create1(EPOLL_CLOEXEC));
    ::epoll_event event{};
    event.events = EPOLLIN;
    if (made.get() < 0 || ::epoll_ctl(made.get(), EPOLL_CTL_ADD, socket_.fd(), &event) != 0) {
        throw SystemError(fmt::format("{}: epoll", link_call), errno);
    }
    watched_ = std::move(made);
    watch_room();
    return watched_.get();
}

// Of what is kept nobody is woken otherwise, and room there is nearly always.
void StoreLink::watch_room() noexcept {
    bool const wanted = !untold_.empty() || !kept_.empty();
    if (watched_.get() < 0 || watches_room_ == wanted) return;
    watches_room_ = wanted;
    ::epoll_event event{};
    event.events = watches_room_ ? EPOLLIN | EPOLLOUT : EPOLLIN;
    (void)::epoll_ctl(watched_.get(), EPOLL_CTL_MOD, socket_.fd(), &event);
}

bool StoreLink::try_send(std::string_view call, std::vector<std::byte> const& bytes) {
    try {
        (void)socket_.send(call, bytes);  // a store that has gone is seen by who receives
        return true;
    } catch (SystemError const& error) {
        if (!is_out_of_room(error.code())) throw;
        return false;
    }
}

void StoreLink::send(std::string_view call, std::vector<std::byte> bytes,
                     Deadline const& deadline) {
    untold_.push_back(std::move(bytes));
    while (!untold_.empty()) {
        if (try_send(call, untold_.front())) {
            untold_.pop_front();
            continue;
        }
        if (deadline.passed()) {
            untold_.pop_back();  // the question, which nobody waits for
            watch_room();
            throw TimeoutError(call, "the store does not read what it is sent");
        }
        ::pollfd room{socket_.fd(), POLLOUT, 0};
        (void)::poll(&room, 1, poll_period(deadline));
    }
    watch_room();
}

std::optional<std::pair<std::uint32_t, StoreAnswer>> StoreLink::receive_now(std::string_view call) {
    if (!gone_.empty()) lose_store(call, {});
    Received received = socket_.receive(call, 1);
    if (std::holds_alternative<PeerClosed>(received)) {
        lose_store(call, closed);
    }
    auto* const message = std::get_if<SocketMessage>(&received);
    if (message == nullptr) return {};
    StoreAnswer answer;
    answer.descriptor_lost = message->descriptors_lost;
    auto decoded = decode(call, *message);
    answer.message = std::move(decoded.message);
    if (!message->descriptors.empty()) answer.descriptor = std::move(message->descriptors[0]);
    if (decoded.id == 0 && std::holds_alternative<LentBuffer>(answer.message)) ++came_unasked_;
    auto const* refused = std::get_if<Refused>(&answer.message);
    if (refused != nullptr && decoded.id == 0) {
        gone_ = refused->text;
        throw RefusedError(call, refused->reason, refused->text);
    }
    return std::pair(decoded.id, std::move(answer));
}

// Of another version: it refuses, in words of its own.
Decoded StoreLink::decode(std::string_view call, SocketMessage const& message) {
    try {
        return detail::decode(message.bytes,
                              message.descriptors_lost ? 1 : message.descriptors.size());
    } catch (VersionError const& error) {
        gone_ = cause_of(error);
        throw RefusedError(call, RefusalReason::version, gone_);
    } catch (ProtocolError const& error) {
        throw ProtocolError(
            call, fmt::format("whoever listens there talks nonsense: {}", cause_of(error)));
    }
}

bool StoreLink::await(Deadline const& deadline, bool untold) const {
    auto const socket = static_cast<short>(untold ? POLLIN | POLLOUT : POLLIN);
    std::array<::pollfd, 2> watched{{{socket_.fd(), socket, 0}, {stores_end_.get(), POLLIN, 0}}};
    (void)::poll(watched.data(), watched.size(), poll_period(deadline));
    return watched[1].revents != 0;
}

}  // namespace carillon::detail
