// SPDX-License-Identifier: Apache-2.0
// A connection of one client's to a store: questions and answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "carillon/connection.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/memory.hpp"
#include "os/unix_socket.hpp"
#include "store/messages.hpp"

namespace carillon::detail {

struct StoreAnswer {
    store::Message message;
    FileDescriptor descriptor;  // of Lent, if it came
    bool descriptor_lost = false;
};

// One thread at a time. It has no thread of its own: whoever waits reads.
class StoreLink {
   public:
    // Connects and introduces itself as `name`. Throws as StoreConnection's constructor.
    // `spin`: as StoreConnectOptions says it.
    StoreLink(std::filesystem::path const& path, std::string const& name, Deadline const& deadline,
              std::chrono::nanoseconds spin);

    [[nodiscard]] ConnectedOwner const& owner() const { return owner_; }
    [[nodiscard]] int fd() const { return socket_.fd(); }

    // Throws RefusedError, OwnerGoneError, TimeoutError, ProtocolError.
    [[nodiscard]] StoreAnswer ask(std::string_view call, store::Message const& question,
                                  Deadline const& deadline);
    // What asks for no answer: now, or before the next question where there is no room for it yet.
    // Where the store has gone nothing is said.
    void tell(store::Message const& message) noexcept;
    // The next message, whatever it answers, if it comes in time.
    [[nodiscard]] std::optional<std::pair<std::uint32_t, StoreAnswer>> receive(
        std::string_view call, Deadline const& deadline);

   private:
    // Until there may be something to receive; whether the store's process has ended.
    [[nodiscard]] bool await(Deadline const& deadline, Deadline const& spin_end) const;
    [[noreturn]] void lose_store(std::string_view call, std::string why);
    // False: there is no room for it in the socket now.
    [[nodiscard]] bool try_send(std::string_view call, std::vector<std::byte> const& bytes);
    // What was to be told before, and this. Throws TimeoutError.
    void send(std::string_view call, std::vector<std::byte> bytes, Deadline const& deadline);

    UnixSocket socket_;
    FileDescriptor stores_end_;
    std::chrono::nanoseconds spin_;
    ConnectedOwner owner_;
    std::uint32_t last_id_ = 0;
    std::deque<std::vector<std::byte>> untold_;
    std::string gone_;  // why the store has; empty while it has not
};

}  // namespace carillon::detail
