// SPDX-License-Identifier: Apache-2.0
// Who listens at a path and says what it likes to whoever connects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "os/unix_listener.hpp"
#include "os/unix_socket.hpp"

namespace carillon::test {

// Who connects is handed to `serve`, one after another, for as long as this object is there.
class FalseOwner {
   public:
    using Serve = std::function<void(detail::UnixSocket const&)>;
    FalseOwner(std::string const& path, Serve serve)
        : listener_("test", path, 0600), thread_([this, serve](std::stop_token const& stop) {
              while (!stop.stop_requested()) {
                  if (auto const client = listener_.accept()) serve(*client);
                  std::this_thread::yield();
              }
          }) {}

   private:
    detail::UnixListener listener_;
    std::jthread thread_;
};

// As a process of the next version of the messages would send it.
template <std::uint16_t version>
std::vector<std::byte> of_next_version(std::vector<std::byte> message) {
    std::uint16_t const next = version + 1;
    std::memcpy(message.data() + sizeof(std::uint32_t), &next, sizeof(next));
    return message;
}

}  // namespace carillon::test
