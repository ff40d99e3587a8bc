// SPDX-License-Identifier: Apache-2.0
// The thread that lets clients of other processes in to a kernel.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "carillon/detail/host/leases.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/kernel_options.hpp"
#include "carillon/server.hpp"
#include "ipc/messages.hpp"
#include "ipc/wakeup.hpp"
#include "os/unix_listener.hpp"
#include "os/unix_socket.hpp"

namespace carillon::detail {

// Nothing that a client sends, or does not, keeps it from the others: it never blocks but in
// poll(), takes a bounded number of messages of each in turn, and drops whoever does not keep to
// the messages or does not read them. Neither copied nor moved.
class ServerThread {
   public:
    // As Server's constructor.
    ServerThread(std::filesystem::path const& path, std::shared_ptr<Leases> leases,
                 ServeOptions const& options);
    ServerThread(ServerThread const&) = delete;
    ServerThread& operator=(ServerThread const&) = delete;
    // Not in a child that was forked (ServerThread::make).
    ~ServerThread();
    [[nodiscard]] static std::shared_ptr<ServerThread> make(std::filesystem::path const& path,
                                                            std::shared_ptr<Leases> leases,
                                                            ServeOptions const& options);

    void require_own(char const* call) const { mark_.require_own(call); }
    [[nodiscard]] std::filesystem::path const& path() const { return path_; }
    [[nodiscard]] std::vector<ConnectedClient> clients() const;

   private:
    using Clock = std::chrono::steady_clock;

    // Who wants a channel, until a block is free.
    struct Ask {
        std::uint32_t id;
        Attach attach;
        Clock::time_point since;
    };
    struct Held {
        unsigned block;
        Clock::time_point since;
    };
    struct Session {
        UnixSocket socket;
        PeerCredentials peer;
        FileDescriptor process;  // readable when it has ended
        Clock::time_point came;
        std::string name{};  // once it has introduced itself
        std::map<std::uint32_t, Held> leases{};
        std::deque<Ask> asks{};
        bool over = false;
    };
    // What is sent to whoever is refused.
    struct Refusal {
        RefusalReason reason;
        std::string text;
    };

    void serve(std::stop_token const& stop);
    void take_turn(unsigned turn);
    [[nodiscard]] std::chrono::milliseconds period() const;
    [[nodiscard]] std::vector<::pollfd> watched() const;
    void accept_all();
    void accept(UnixSocket socket);
    void receive_from(Session& session);
    void drop_over();
    void lend_to(Session& session);
    void tell_state(bool ask_device);
    [[nodiscard]] bool kernel_ended() const {
        return told_ == KernelState::stopped || told_ == KernelState::failed;
    }
    // Why it takes no more requests.
    [[nodiscard]] std::string why_closed(KernelState state) const;

    void handle(Session& session, std::uint32_t id, Message const& message);
    void answer(Session& session, std::uint32_t id, Hello const& hello);
    void answer(Session& session, std::uint32_t id, Look const& look);
    void ask(Session& session, std::uint32_t id, Attach const& attach) const;
    // False while it has to wait. Throws Refusal.
    [[nodiscard]] bool lend(Session& session, Ask const& ask);
    void send(Session& session, std::uint32_t id, Message const& message,
              std::vector<int> const& descriptors = {});
    void refuse(Session& session, std::uint32_t id, RefusalReason reason, std::string text);
    // Throws Refusal.
    void require_allowed(Session const& session) const;
    void require_open() const;
    void require_types(Attach const& attach) const;
    void end_lease(Session& session, std::uint32_t lease);
    void log(Session const& session, std::string_view what) const noexcept;
    void give_back(unsigned block) noexcept;

    ProcessMark mark_;
    std::filesystem::path path_;
    std::shared_ptr<Leases> leases_;
    ServeOptions options_;
    std::uint64_t instance_;
    UnixListener listener_;
    Wakeup wakeup_;
    mutable std::mutex mutex_;  // of sessions_ and what is in them
    std::vector<std::unique_ptr<Session>> sessions_;
    std::uint32_t last_lease_ = 0;
    bool deaf_ = false;                        // the listener is not looked at
    KernelState told_ = KernelState::running;  // an end is final
    std::string told_text_;                    // why, unless it runs
    std::jthread thread_;
};

}  // namespace carillon::detail
