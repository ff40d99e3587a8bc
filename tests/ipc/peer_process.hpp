// SPDX-License-Identifier: Apache-2.0
// Another process: the program peer_program.cpp in one of its roles.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "carillon/error.hpp"
#include "carillon/memory.hpp"
#include "support/eventually.hpp"
#include "support/temporary_directory.hpp"

namespace carillon::test {

// Killed when it goes, if it is there still.
class Process {
   public:
    // `environment`: NAME=VALUE, beside this process's own.
    explicit Process(std::vector<std::string> arguments,
                     std::vector<std::string> const& environment = {}) {
        std::array<int, 2> to{};
        std::array<int, 2> from{};
        if (::pipe2(to.data(), O_CLOEXEC) != 0 || ::pipe2(from.data(), O_CLOEXEC) != 0) {
            ADD_FAILURE() << "no pipes";
            return;
        }
        FileDescriptor const their_input(to[0]);
        FileDescriptor const their_output(from[1]);
        input_ = FileDescriptor(to[1]);
        output_ = FileDescriptor(from[0]);
        arguments.insert(arguments.begin(), CARILLON_IPC_PEER);
        std::vector<std::string> variables = environment;
        for (char** each = environ; *each != nullptr; ++each) variables.emplace_back(*each);
        posix_spawn_file_actions_t actions;
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawn_file_actions_adddup2(&actions, their_input.get(), 0);
        ::posix_spawn_file_actions_adddup2(&actions, their_output.get(), 1);
        if (::posix_spawn(&pid_, CARILLON_IPC_PEER, &actions, nullptr, pointers(arguments).data(),
                          pointers(variables).data()) != 0) {
            ADD_FAILURE() << "cannot start " << CARILLON_IPC_PEER;
            pid_ = -1;
        }
        ::posix_spawn_file_actions_destroy(&actions);
    }
    Process(Process&& other) noexcept
        : pid_(std::exchange(other.pid_, -1)),
          input_(std::move(other.input_)),
          output_(std::move(other.output_)),
          read_(std::move(other.read_)) {}
    Process& operator=(Process&&) = delete;
    Process(Process const&) = delete;
    Process& operator=(Process const&) = delete;
    ~Process() {
        if (pid_ > 0) (void)kill();
    }

    // The next line that it prints; "" at its end, or when none has come for long.
    [[nodiscard]] std::string line() {
        for (;;) {
            std::size_t const end = read_.find('\n');
            if (end != std::string::npos) {
                std::string line = read_.substr(0, end);
                read_.erase(0, end + 1);
                return line;
            }
            ::pollfd readable{output_.get(), POLLIN, 0};
            int const most = static_cast<int>(std::chrono::milliseconds(patience).count());
            if (::poll(&readable, 1, most) != 1) return {};
            std::array<char, 256> bytes{};
            ssize_t const got = ::read(output_.get(), bytes.data(), bytes.size());
            if (got <= 0) return {};
            read_.append(bytes.data(), static_cast<std::size_t>(got));
        }
    }

    // Wakes a process that waits for this word.
    void tell(std::string const& word) const {
        std::string const with_end = word + "\n";
        EXPECT_EQ(::write(input_.get(), with_end.data(), with_end.size()),
                  static_cast<ssize_t>(with_end.size()));
    }

    // Lets the process read the end of its input.
    void close_input() { input_ = FileDescriptor(); }

    // Its exit status once it has ended by itself; none if it does not end.
    [[nodiscard]] std::optional<int> status() {
        int status = 0;
        if (!eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; })) return {};
        pid_ = -1;
        if (!WIFEXITED(status)) return {};
        return WEXITSTATUS(status);
    }
    // Kills it by SIGKILL; false if it had ended before.
    bool kill() {
        ::kill(pid_, SIGKILL);
        int status = 0;
        ::waitpid(pid_, &status, 0);
        pid_ = -1;
        return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    }
    // Stops all its threads until go_on(). Returns whether they have stopped.
    [[nodiscard]] bool stop() const {
        ::kill(pid_, SIGSTOP);
        return eventually([&] {
            ::siginfo_t stopped{};
            return ::waitid(P_PID, static_cast<::id_t>(pid_), &stopped, WSTOPPED | WNOHANG) == 0 &&
                   stopped.si_pid == pid_;
        });
    }
    void go_on() const { ::kill(pid_, SIGCONT); }
    [[nodiscard]] pid_t pid() const { return pid_; }

   private:
    [[nodiscard]] static std::vector<char*> pointers(std::vector<std::string>& strings) {
        std::vector<char*> all;
        for (std::string& string : strings) all.push_back(string.data());
        all.push_back(nullptr);
        return all;
    }

    pid_t pid_ = -1;
    FileDescriptor input_;
    FileDescriptor output_;
    std::string read_;
};

// Starts a process, and waits until it prints the line `says`.
inline Process started(std::vector<std::string> arguments, std::string const& says) {
    Process process(std::move(arguments));
    EXPECT_EQ(process.line(), says);
    return process;
}
inline Process serving(std::vector<std::string> arguments) {
    return started(std::move(arguments), "serving");
}
inline Process attached(std::vector<std::string> arguments) {
    return started(std::move(arguments), "attached");
}

// A path for a socket, in a folder of its own that goes with it.
class SocketPath {
   public:
    [[nodiscard]] std::string get() const { return (folder() / "kernel.sock").string(); }
    [[nodiscard]] std::filesystem::path const& folder() const { return folder_.path(); }

   private:
    TemporaryDirectory folder_;
};

// The reason why an owner refuses what `call` asks for.
template <class Call>
RefusalReason refusal_of(Call&& call) {
    try {
        (void)call();
    } catch (RefusedError const& error) {
        return error.reason();
    }
    ADD_FAILURE() << "it was not refused";
    return RefusalReason::other;
}

}  // namespace carillon::test
