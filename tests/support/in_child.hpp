// SPDX-License-Identifier: Apache-2.0
// A child that is forked, and how it ended.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>

#include "carillon/error.hpp"
#include "support/eventually.hpp"

namespace carillon::test {

inline constexpr int hung = -1;
inline constexpr int killed_by = 1000;  // and the number of the signal

// The exit status of a child; one that hangs is ended.
inline int outcome_of(pid_t child) {
    int status = 0;
    if (eventually([&] { return ::waitpid(child, &status, WNOHANG) == child; })) {
        return WIFEXITED(status) ? WEXITSTATUS(status) : killed_by + WTERMSIG(status);
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    return hung;
}

// Starts a child that ends with the result of `body`, without cleaning up.
inline pid_t start_child(std::function<int()> const& body) {
    pid_t const child = ::fork();
    if (child != 0) return child;
    int status = 99;
    try {
        status = body();
    } catch (std::exception const& error) {
        (void)std::fprintf(stderr, "in the child: %s\n", error.what());
    }
    ::_exit(status);
}

inline int in_child(std::function<int()> const& body) { return outcome_of(start_child(body)); }

// Whether a call in a child is refused as that of one.
template <class Call>
bool is_fork_error(Call&& call) {
    try {
        (void)call();
    } catch (ForkError const&) {
        return true;
    } catch (std::exception const& error) {
        (void)std::fprintf(stderr, "in the child: %s\n", error.what());
    }
    return false;
}

}  // namespace carillon::test
