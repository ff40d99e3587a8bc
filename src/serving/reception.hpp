// SPDX-License-Identifier: Apache-2.0
// The part of a server's thread that knows nothing of what is served: who connects, whether they
// may, what they send, and that they have gone.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/server.hpp"
#include "os/unix_listener.hpp"
#include "os/unix_socket.hpp"
#include "serving/client_messages.hpp"
#include "serving/refusal.hpp"

namespace carillon::detail {

// Throws UsageError for options that make no sense.
[[nodiscard]] ServeOptions checked_serve(ServeOptions options);

// Who has connected.
struct Visitor {
    UnixSocket socket;
    PeerCredentials peer{};
    FileDescriptor process{};  // readable when it has ended; may be none
    std::chrono::steady_clock::time_point came = std::chrono::steady_clock::now();
    std::string name{};  // once it has introduced itself
    bool over = false;   // to be dropped
    // Messages that wait for room in its socket. Nothing more is read of it until they are sent.
    std::deque<std::vector<std::byte>> unsent{};
    std::uint32_t magic = messages_magic;  // of the version of its messages, if that is another
    // Descriptors that it was sent since it had read all that it was sent.
    unsigned unread_descriptors = 0;
    // As poll() has said of it last.
    bool heard = false;  // it has sent something, or closed
    bool ended = false;  // its process has
};

// Of one thread, but for its path and instance. None of its calls waits, but for the program.
class Reception {
   public:
    // Nobody is let in before open().
    explicit Reception(ServeOptions const& options);
    // Listens at the path. Throws as UnixListener does.
    void open(std::filesystem::path const& path);
    // As before it. The path is free; who has connected finds the owner gone.
    void undo_open() noexcept {
        listener_.reset();
        path_.clear();
    }

    [[nodiscard]] std::filesystem::path const& path() const { return path_; }  // empty: not open
    [[nodiscard]] std::uint64_t instance() const { return instance_; }         // another for each
    [[nodiscard]] std::string const& name() const { return *options_.name; }

    // For poll(): whoever connects, and what a visitor sends, and that its process has ended.
    [[nodiscard]] ::pollfd listening() const;
    static void watch(std::vector<::pollfd>& all, Visitor const& visitor);
    // What poll() has said of a visitor; `watched` begins with what watch() added for it, and ends
    // there after.
    void heed(Visitor& visitor, std::span<::pollfd const>& watched) const;

    // Hands on those that have connected, some at a time. `listened`: listening() after poll().
    void accept_all(::pollfd const& listened, std::function<void(UnixSocket)> const& accept);
    // Why it may not stay; nothing if it may, and then it counts until forget().
    [[nodiscard]] std::optional<Refused> admit(Visitor& visitor);
    void forget(Visitor const& visitor) noexcept { std::erase(visitors_, &visitor); }

    // Hands on what it has sent, some messages at a time, where it was heard. Refuses, and ends the
    // visit, for what is no message, and for what `handle` throws.
    void receive_from(Visitor& visitor, std::function<void(Decoded const&)> const& handle);
    // At once, or when there is room in its socket.
    void send(Visitor& visitor, std::uint32_t id, Message const& message);
    // Sends Refused, and writes a line for people.
    void refuse(Visitor& visitor, std::uint32_t id, Refused refusal);
    // Why it cannot be sent so many descriptors now; nothing if it can. Those that nobody has read
    // count as open ones of this process's user, so there is a bound to those of a connection, of a
    // user, and of all, below RLIMIT_NOFILE.
    [[nodiscard]] std::optional<Refused> require_read(Visitor& visitor, unsigned descriptors) const;
    // Sends it at once, where require_read() found nothing. Throws Refused where the system has no
    // room.
    void lend(Visitor& visitor, std::uint32_t id, Message const& message,
              std::span<int const> descriptors);

    // Whether it is over, its process has ended, or it has not said who it is for too long.
    [[nodiscard]] bool has_gone(Visitor const& visitor);

    // A line for people, which say_lines() says: of one user so many in a while, and then how many
    // were left out.
    void log(Visitor const& visitor, std::string_view what) noexcept;
    // The same of nobody in particular.
    void log(std::string_view what);
    // Calls the program, which may call the server: without the server's lock. `all`: of those that
    // were left out in a while that is not over, too. Each second it is looked whether the path's
    // files are there.
    void say_lines(bool all = false) noexcept;
    // Nobody is let in any more; the path is free.
    void close() { listener_.reset(); }

   private:
    // Of one user.
    struct Told {
        std::chrono::steady_clock::time_point since;
        unsigned lines = 0;
        std::uint64_t left_out = 0;
    };

    // Whether its user, or a group of it, is among those of the options.
    [[nodiscard]] bool is_allowed(Visitor const& visitor) const;
    [[nodiscard]] std::optional<Refused> require_place(uid_t user) const;
    // That its descriptors are none of those that are kept for the owner's user and root.
    [[nodiscard]] static std::optional<Refused> require_descriptors(Visitor const& visitor);
    // Drops one that has said nothing for a while, and whose place this user may have: of its own,
    // or, for the owner's user and root, of any. False: there is none.
    [[nodiscard]] bool drop_stranger(uid_t user);
    void flush(Visitor& visitor) const;
    // False: there is no room.
    [[nodiscard]] bool try_send(Visitor& visitor, std::vector<std::byte> const& bytes) const;
    // Of all, and of one user.
    struct Unread {
        std::size_t of_all = 0;
        std::size_t of_user = 0;
    };
    [[nodiscard]] Unread count_unread(uid_t user) const;
    void say(std::string const& line) const noexcept;
    void look_at_files() noexcept;

    std::filesystem::path path_;
    ServeOptions options_;
    std::uint64_t instance_;
    std::optional<UnixListener> listener_;
    bool deaf_ = false;  // the listener is not looked at
    std::chrono::steady_clock::time_point looked_at_files_{};
    std::string_view missing_;  // of the files, as a line has said
    std::vector<Visitor*> visitors_;
    std::vector<std::string> lines_;
    std::map<std::uint32_t, Told> told_;  // users
};

}  // namespace carillon::detail
