// SPDX-License-Identifier: Apache-2.0
// The thread that lets clients of other processes in to what a Server serves: kernels, objects and
// a store of buffers.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/thread.hpp"
#include "carillon/server.hpp"
#include "serving/buffer_service.hpp"
#include "serving/client_messages.hpp"
#include "serving/object_service.hpp"
#include "serving/reception.hpp"
#include "serving/session.hpp"
#include "serving/wakeup.hpp"

namespace carillon::detail {

// No client keeps it from another, whatever it sends or leaves undone: it blocks in poll() alone
// (and where a store makes memory of a GPU), takes a bounded number of messages of each client in
// turn, reads none of a client that does not read what it was sent, and drops a client that breaks
// the protocol. Neither copied nor moved.
class Endpoint {
   public:
    // Throws as Server's constructor.
    [[nodiscard]] static std::shared_ptr<Endpoint> make(ServeOptions const& options);
    // Throws as Server::open().
    void open(std::filesystem::path const& path);

    // Throws UsageError for the name, and if another object has it that has not ended.
    void add(std::unique_ptr<ServedItem> object);
    // Throws UsageError if it has a store.
    void add(std::shared_ptr<BufferTable> store);

    void require_own() const { mark_.require_own(); }
    [[nodiscard]] std::filesystem::path const& path() const { return reception_.path(); }
    [[nodiscard]] std::vector<ConnectedClient> clients() const;

   private:
    using Clock = std::chrono::steady_clock;

    // Ends an endpoint in the process that made it. A function of the program's that the thread
    // calls may do so. The thread cannot wait for itself: it deletes the endpoint as it ends.
    struct LetGo {
        void operator()(Endpoint* endpoint) const noexcept;
    };

    explicit Endpoint(ServeOptions const& options);
    ~Endpoint();
    void serve(std::stop_token const& stop);
    void take_turn(unsigned turn);
    void await(std::vector<::pollfd>& descriptors) const;
    [[nodiscard]] std::chrono::milliseconds period() const;
    [[nodiscard]] std::vector<::pollfd> watched() const;
    void accept(UnixSocket socket);
    void handle(Session& session, std::uint32_t id, Message const& message);
    void answer(Session& session, std::uint32_t id, Hello const& hello);
    void answer(Session& session, std::uint32_t id, Look const& look);
    // The store of an endpoint. Throws Refused if it has none.
    [[nodiscard]] BufferService& buffers();
    void drop_over();
    void leave(Session& session) noexcept;
    // The program has destroyed the store: its clients are dropped. If nothing else was served, the
    // path is free.
    void lose_store();

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

}  // namespace carillon::detail
