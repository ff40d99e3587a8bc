// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <exception>

#include "support/eventually.hpp"

namespace carillon::test {

// What `body` returns in a child that is forked for it, 98 if it throws, -1 if it hangs or dies.
template <class Body>
int returned_in_child(Body&& body) {
    pid_t const child = ::fork();
    if (child == 0) {
        int result = 98;
        try {
            result = body();
        } catch (std::exception const&) {  // the result says so
        }
        ::_exit(result);
    }
    int status = 0;
    if (!eventually([&] { return ::waitpid(child, &status, WNOHANG) == child; })) {
        ::kill(child, SIGKILL);
        ::waitpid(child, &status, 0);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace carillon::test
