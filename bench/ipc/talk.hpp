// SPDX-License-Identifier: Apache-2.0
// How the processes of `carillon-bench ipc` talk to each other: lines, and bytes, over a socket.
#pragma once

#include <carillon/memory.hpp>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace carillon::tool {

// Every wait for another process ends after this time.
constexpr std::chrono::seconds patience{30};
// The exception: an order is awaited until the process that gives orders ends, since it may have to
// wait for others.
constexpr std::chrono::hours until_told{24};
// A process polls for this time before it sleeps: a thread that has to be woken answers later.
constexpr std::chrono::microseconds talk_spin{500};

class Talk {
   public:
    explicit Talk(FileDescriptor socket) : socket_(std::move(socket)) {}

    // Sends nothing if the other process is gone: line() returns its last line then.
    void say(std::string_view line) const;
    void send(std::span<std::byte const> bytes) const;
    // Closes this side's direction of the socket.
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
