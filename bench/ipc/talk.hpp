// SPDX-License-Identifier: Apache-2.0
// What the processes of `carillon-bench ipc` tell each other: lines, and bytes, by a socket.
#pragma once

#include <carillon/memory.hpp>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace carillon::tool {

// No wait for another process is longer.
constexpr std::chrono::seconds patience{30};
// But one: an order is awaited until whoever gives them ends, who may have others to wait for.
constexpr std::chrono::hours until_told{24};
// So long a process looks before it sleeps: a thread that has to be woken answers later.
constexpr std::chrono::microseconds talk_spin{500};

class Talk {
   public:
    explicit Talk(FileDescriptor socket) : socket_(std::move(socket)) {}

    // Where the other process has gone nothing is sent: line() returns what it said last.
    void say(std::string_view line) const;
    void send(std::span<std::byte const> bytes) const;
    // No more is said.
    void finish() const;

    // The next line. Throws TimeoutError, or Error at the other process's end.
    [[nodiscard]] std::string line(std::chrono::nanoseconds timeout = patience);
    void read(std::span<std::byte> into);
    // Whether line() has something to return, or to throw, at once.
    [[nodiscard]] bool heard() const;

   private:
    void read_more(std::chrono::nanoseconds timeout);

    FileDescriptor socket_;
    std::string read_;
};

}  // namespace carillon::tool
