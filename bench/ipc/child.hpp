// SPDX-License-Identifier: Apache-2.0
// Another process of `carillon-bench ipc`: this program, started again in one of its roles
// (peer.hpp).
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "ipc/talk.hpp"

namespace carillon::tool {

// Killed when it goes, if it is there still.
class Child {
   public:
    // `arguments`: behind `carillon-bench ipc`. Throws SystemError.
    explicit Child(std::vector<std::string> const& arguments);
    Child(Child&& other) noexcept
        : pid_(std::exchange(other.pid_, -1)), talk_(std::move(other.talk_)) {}
    Child& operator=(Child&& other) noexcept {
        std::swap(pid_, other.pid_);
        std::swap(talk_, other.talk_);
        return *this;
    }
    Child(Child const&) = delete;
    Child& operator=(Child const&) = delete;
    ~Child();

    [[nodiscard]] Talk& talk() { return talk_; }
    // Reads the next line. Throws TimeoutError, and Error if it is not `line`.
    void expect(std::string_view line, std::chrono::nanoseconds timeout = patience);

    // Throws Error unless it ends with status 0.
    void await_end();
    // Kills it by SIGKILL, and waits for its end.
    void kill();

   private:
    Child(std::vector<std::string> const& arguments,
          std::pair<FileDescriptor, FileDescriptor> sockets);

    // The status that waitpid() gives. Throws TimeoutError.
    [[nodiscard]] int status();

    pid_t pid_ = -1;
    Talk talk_;
};

}  // namespace carillon::tool
