// SPDX-License-Identifier: Apache-2.0
#include "ipc/child.hpp"

#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <carillon/error.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

namespace carillon::tool {
namespace {

std::pair<FileDescriptor, FileDescriptor> socket_pair() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        throw SystemError("socketpair", errno);
    }
    return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

// Starts a process whose standard input is the socket. Throws SystemError.
pid_t start(std::vector<std::string> arguments, int socket) {
    std::vector<char*> pointers;
    pointers.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    // A group of its own: Ctrl-C on the terminal is for this process alone, which ends the others.
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
    pid_t pid = -1;
    int const error =
        ::posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, pointers.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    if (error != 0) throw SystemError("start another process", error);
    return pid;
}

}  // namespace

Child::Child(std::vector<std::string> const& arguments) : Child(arguments, socket_pair()) {}

Child::Child(std::vector<std::string> const& arguments,
             std::pair<FileDescriptor, FileDescriptor> sockets)
    : talk_(std::move(sockets.first)) {
    std::vector<std::string> all{"carillon-bench", "ipc"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    pid_ = start(std::move(all), sockets.second.get());
}

Child::~Child() {
    if (pid_ <= 0) return;
    try {
        kill();
    } catch (std::exception const&) {  // it cannot be ended: the system's to see to
    }
}

void Child::expect(std::string_view line, std::chrono::nanoseconds timeout) {
    std::string const said = talk_.line(timeout);
    if (said == line) return;
    throw Error("ipc",
                "another process says \"" + said + "\" instead of \"" + std::string(line) + "\"");
}

void Child::await_end() {
    int const status = this->status();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    throw Error("ipc", WIFSIGNALED(status) ? "another process was ended by signal " +
                                                 std::to_string(WTERMSIG(status))
                                           : "another process has failed");
}

void Child::kill() {
    (void)::kill(pid_, SIGKILL);
    (void)status();
}

int Child::status() {
    auto const end = std::chrono::steady_clock::now() + patience;
    int status = 0;
    while (::waitpid(pid_, &status, WNOHANG) != pid_) {
        if (std::chrono::steady_clock::now() > end) {
            throw TimeoutError("ipc", "another process does not end");
        }
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    pid_ = -1;
    return status;
}

}  // namespace carillon::tool
