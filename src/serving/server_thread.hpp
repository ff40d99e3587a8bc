// SPDX-License-Identifier: Apache-2.0
// The thread that lets clients of other processes in to what this one serves.
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
#include <utility>
#include <vector>

#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/thread.hpp"
#include "carillon/kernel_options.hpp"
#include "carillon/server.hpp"
#include "serving/client_messages.hpp"
#include "serving/reception.hpp"
#include "serving/served.hpp"
#include "serving/wakeup.hpp"

namespace carillon::detail {

// Nothing that a client sends, or does not, keeps it from the others: it never blocks but in
// poll(), takes a bounded number of messages of each in turn, reads none of a client that does not
// read what it was sent, and drops whoever does not keep to the messages. Neither copied nor moved.
class ServerThread {
   public:
    // As Server's constructor.
    explicit ServerThread(ServeOptions const& options);
    ServerThread(ServerThread const&) = delete;
    ServerThread& operator=(ServerThread const&) = delete;
    [[nodiscard]] static std::shared_ptr<ServerThread> make(ServeOptions const& options);
    // As Server::open().
    void open(std::filesystem::path const& path);

    // Throws UsageError for the name, and where another object has it that has not ended.
    void add(std::unique_ptr<ServedItem> object);

    void require_own(char const* call) const { mark_.require_own(call); }
    [[nodiscard]] std::filesystem::path const& path() const { return reception_.path(); }
    [[nodiscard]] std::vector<ConnectedClient> clients() const;

   private:
    using Clock = std::chrono::steady_clock;

    // Who wants a channel, until a block is free.
    struct Ask {
        std::uint32_t id;
        ServedItem* object;
        bool host_memory;
        Clock::time_point since;
    };
    struct Held {
        ServedItem* object;
        unsigned place;
        Clock::time_point since;
    };
    struct Session : Visitor {
        // Not an aggregate's: where a member throws then, GCC 12 destroys the base twice.
        explicit Session(UnixSocket connected) : Visitor{std::move(connected)} {}

        std::map<std::uint32_t, Held> leases{};
        std::deque<Ask> asks{};
    };

    friend struct LetServerGo;
    ~ServerThread();
    void serve(std::stop_token const& stop);
    void take_turn(unsigned turn);
    [[nodiscard]] std::chrono::milliseconds period() const;
    [[nodiscard]] std::vector<::pollfd> watched() const;
    void accept(UnixSocket socket);
    void receive_from(Session& session);
    void drop_over();
    void lend_to(Session& session);
    void tell_state(bool ask_device);
    // Ends the leases of objects whose names others have now, before those are told of and lent.
    void take_back_former();
    void take_back_all(ServedItem const& object);
    // Of a kernel that drains: clients that cannot say that all is answered, and have it.
    void count_as_drained() const;
    // Whose words no client of the library's writes has its lease no more.
    void look_at_counters();

    void handle(Session& session, std::uint32_t id, Message const& message);
    void answer(Session& session, std::uint32_t id, Hello const& hello);
    void answer(Session& session, std::uint32_t id, Look const& look);
    void see(ServedItem const& object, unsigned place, Seen& seen) const;
    void ask(Session& session, std::uint32_t id, Attach const& attach) const;
    // False while it has to wait. Throws Refusal.
    [[nodiscard]] bool lend(Session& session, Ask const& ask);
    void send(Session& session, std::uint32_t id, Message const& message);
    void refuse(Session& session, std::uint32_t id, Refusal refusal);
    // What a connection or a user has, and asks for.
    struct Wanted {
        std::size_t channels = 0;
        std::size_t bytes = 0;
        std::size_t descriptors = 0;

        void add(ServedItem const& object);
        void add(Session const& session);
        // 0: there is no such limit. Throws Refusal.
        void require(std::string_view of, Wanted const& most) const;
    };
    // Throw Refusal.
    void require_within_limits(Session const& session, ServedItem const& next) const;
    void require_share(Session const& session, ServedItem const& object) const;
    [[nodiscard]] ServedItem& object_of(Attach const& attach) const;
    void end_lease(Session& session, std::uint32_t lease);
    // Ends the lease of what the client cannot map. Tells it where the lease has ended before.
    void hear(Session& session, Mapped const& mapped);
    static void give_back(Held const& held) noexcept;

    ProcessMark mark_;
    ServeOptions options_;
    Reception reception_;
    Wakeup wakeup_;
    mutable std::mutex mutex_;  // of sessions_ and what is in them, and of the objects
    std::vector<std::unique_ptr<ServedItem>> objects_;  // never fewer
    // Objects whose names others have now: the former ones may have leases, the unused ones have
    // none. This thread frees neither: the driver may wait for a kernel there, and all clients wait
    // for this thread.
    std::vector<std::unique_ptr<ServedItem>> former_;
    std::vector<std::unique_ptr<ServedItem>> unused_;
    std::vector<std::unique_ptr<Session>> sessions_;
    std::uint32_t last_lease_ = 0;
    Clock::time_point looked_at_counters_{};
    bool deletes_itself_ = false;  // of the thread's
    Thread thread_;
};

}  // namespace carillon::detail
