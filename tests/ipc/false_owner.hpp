// SPDX-License-Identifier: Apache-2.0
// A listener at a path that sends anything to its clients.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "os/unix_socket.hpp"
#include "serving/client_messages.hpp"
#include "support/eventually.hpp"

namespace carillon::test {

// Hands every client that connects to `serve`, one after another, for as long as this object lives.
class FalseOwner {
   public:
    using Serve = std::function<void(detail::UnixSocket const&)>;
    FalseOwner(std::string const& path, Serve serve)
        : listener_(path, 0600), thread_([this, serve](std::stop_token const& stop) {
              while (!stop.stop_requested()) {
                  if (auto const client = listener_.accept()) serve(*client);
                  std::this_thread::yield();
              }
          }) {}

   private:
    detail::UnixListener listener_;
    std::jthread thread_;
};

// Sends nothing if the client has gone.
inline void tell(detail::UnixSocket const& client, std::uint32_t id, detail::Message const& message,
                 std::vector<int> const& descriptors = {}) {
    (void)client.send(detail::encode(id, message), descriptors);
}

// The next message of a client. It answers the question whether there is a store by itself. The id
// is 0 when the client has gone.
inline detail::Decoded next_of(detail::UnixSocket const& client) {
    for (;;) {
        detail::Decoded decoded;
        EXPECT_TRUE(eventually([&] {
            auto const received = client.receive(0);
            auto const* message = std::get_if<detail::SocketMessage>(&received);
            if (message != nullptr) decoded = detail::decode(message->bytes, 0);
            return !std::holds_alternative<detail::NothingThere>(received);
        }));
        auto const* next = std::get_if<detail::NextBuffer>(&decoded.message);
        if (next == nullptr || next->buffer != ~std::uint64_t{0}) return decoded;
        tell(client, decoded.id, BufferInfo{});
    }
}

inline void say_welcome(detail::UnixSocket const& client) {
    tell(client, next_of(client).id, detail::Welcome{{"kernel", 1, 1}});
}

// Welcomes the client, and leaves each question to `answer`, until the client goes.
inline FalseOwner::Serve answering(
    std::function<void(detail::UnixSocket const&, detail::Decoded const&)> answer) {
    return [answer = std::move(answer)](detail::UnixSocket const& client) {
        say_welcome(client);
        while (!client.is_closed()) {
            auto const asked = next_of(client);
            if (asked.id != 0) answer(client, asked);
        }
    };
}

}  // namespace carillon::test
