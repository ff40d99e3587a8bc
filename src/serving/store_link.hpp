// SPDX-License-Identifier: Apache-2.0
// A connection of one client's to a store: questions and answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "carillon/buffer_store.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/memory.hpp"
#include "os/unix_socket.hpp"
#include "serving/client_messages.hpp"
#include "serving/reach_owner.hpp"

namespace carillon::detail {

struct StoreAnswer {
    Message message;
    FileDescriptor descriptor;  // of Lent and Shown, if it came
    bool descriptor_lost = false;
};

// One thread at a time. It has no thread of its own: whoever waits reads.
class StoreLink {
   public:
    // Connects, tries again while it may (StoreConnectOptions::wait_for_owner), and introduces
    // itself as options.name. Throws as StoreConnection's constructor.
    [[nodiscard]] static StoreLink connect(std::filesystem::path const& path,
                                           StoreConnectOptions const& options);

    [[nodiscard]] ConnectedOwner const& owner() const { return owner_; }
    [[nodiscard]] int fd() const { return socket_.fd(); }
    // How many buffers it has lent unasked, of which this has heard.
    [[nodiscard]] std::uint64_t came_unasked() const { return came_unasked_; }
    // Whether the store has, or has closed the connection.
    [[nodiscard]] bool gone() const { return !gone_.empty(); }
    // Throws OwnerGoneError if it has. From any thread.
    void require_store(std::string_view call) const;
    // For whoever polls before receive(): readable when there is something to receive, or room for
    // what is to be told. Its first call throws SystemError.
    [[nodiscard]] int descriptor();

    // Throws RefusedError, OwnerGoneError, TimeoutError, ProtocolError. `meanwhile` is done when
    // the question is on its way. What is lent unasked meanwhile is kept for receive().
    [[nodiscard]] StoreAnswer ask(
        std::string_view call, Message const& question, Deadline const& deadline,
        std::function<void()> const& meanwhile = [] {});
    // What asks for no answer: now, or before the next question or message where there is no room
    // for it yet. Where the store has gone nothing is said.
    void tell(Message const& message) noexcept;
    // The next message, whatever it answers, if it comes in time.
    [[nodiscard]] std::optional<std::pair<std::uint32_t, StoreAnswer>> receive(
        std::string_view call, Deadline const& deadline) {
        return receive(call, deadline, [&](auto const& there) { return there(); });
    }
    // `alone` calls what it is given, which neither waits nor runs while another thread uses this.
    template <class Alone>
    [[nodiscard]] std::optional<std::pair<std::uint32_t, StoreAnswer>> receive(
        std::string_view call, Deadline const& deadline, Alone const& alone) {
        return receive(call, deadline, alone, true);
    }
    // Gives back what is kept for receive(), which nobody wants any more.
    void give_back_kept() noexcept;

   private:
    static constexpr char const* closed = "the store has closed the connection";
    static constexpr char const* process_ended = "the process of the store has ended";

    StoreLink(std::filesystem::path const& path, StoreConnectOptions const& options);
    StoreLink(ReachedOwner store, std::chrono::nanoseconds spin);
    void introduce(std::string const& name, Deadline const& deadline);
    template <class Alone>
    [[nodiscard]] std::optional<std::pair<std::uint32_t, StoreAnswer>> receive(
        std::string_view call, Deadline const& deadline, Alone const& alone, bool kept_too);
    void give_back(StoreAnswer const& answer) noexcept;
    // The next message, if it is there.
    [[nodiscard]] std::optional<std::pair<std::uint32_t, StoreAnswer>> receive_now(
        std::string_view call);
    // Throws RefusedError for another version.
    [[nodiscard]] Decoded decode(std::string_view call, SocketMessage const& message);
    [[nodiscard]] std::optional<std::pair<std::uint32_t, StoreAnswer>> take_kept();
    // Until there may be something to receive, or room if there is `untold`; whether the store's
    // process has ended.
    [[nodiscard]] bool await(Deadline const& deadline, bool untold) const;
    [[noreturn]] void lose_store(std::string_view call, std::string why);
    // False: there is no room for it in the socket now.
    [[nodiscard]] bool try_send(std::string_view call, std::vector<std::byte> const& bytes);
    // What was to be told before, and this. Throws TimeoutError.
    void send(std::string_view call, std::vector<std::byte> bytes, Deadline const& deadline);
    // As much of what is to be told as there is room for.
    void flush();
    // What descriptor() is readable for.
    void watch_room() noexcept;

    UnixSocket socket_;
    FileDescriptor stores_end_;
    std::chrono::nanoseconds spin_;
    ConnectedOwner owner_;
    std::uint32_t last_id_ = 0;
    std::deque<std::vector<std::byte>> untold_;
    std::deque<StoreAnswer> kept_;
    std::uint64_t came_unasked_ = 0;
    FileDescriptor watched_;  // of descriptor(): an epoll of the socket
    bool watches_room_ = false;
    std::string gone_;  // why the store has; empty while it has not
};

template <class Alone>
std::optional<std::pair<std::uint32_t, StoreAnswer>> StoreLink::receive(std::string_view call,
                                                                        Deadline const& deadline,
                                                                        Alone const& alone,
                                                                        bool kept_too) {
    Deadline const spin_end(spin_);
    for (bool ended = false, untold = false;;) {
        auto came = alone([&] {
            flush();
            auto there = kept_too ? take_kept() : std::nullopt;
            if (!there) there = receive_now(call);
            // What it had sent before is heard first.
            if (!there && ended) lose_store(call, process_ended);
            untold = !untold_.empty();
            return there;
        });
        if (came || deadline.passed()) return came;
        if (spin_end.passed()) ended = await(deadline, untold);
    }
}

}  // namespace carillon::detail
