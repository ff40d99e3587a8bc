// SPDX-License-Identifier: Apache-2.0
#include "measure/interrupt.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <thread>

namespace carillon::tool {

void end_at_interrupt() {
    struct ::sigaction action {};
    if (::sigaction(SIGINT, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) return;
    // A thread waits for the signal. A handler would end system calls of the other threads.
    ::sigset_t interrupt;
    ::sigemptyset(&interrupt);
    ::sigaddset(&interrupt, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &interrupt, nullptr);
    std::thread([interrupt] {
        int signal = 0;
        if (::sigwait(&interrupt, &signal) != 0) return;
        detail_of_interrupt::seen.store(true);
        ::pthread_sigmask(SIG_UNBLOCK, &interrupt, nullptr);  // the next one ends the process
        // On a terminal it covers the line of progress.
        std::fputs(
            fmt::format("{}{}: ends after this piece; Ctrl-C again ends at once\n",
                        ::isatty(STDERR_FILENO) != 0 ? "\r" : "", program_invocation_short_name)
                .c_str(),
            stderr);
        for (;;) ::pause();
    }).detach();
}

bool ended_early() {
    static bool const ended = interrupted();
    return ended;
}

void sleep_until(std::chrono::steady_clock::time_point deadline) {
    constexpr std::chrono::milliseconds look{50};
    while (time_is_left(deadline)) {
        std::this_thread::sleep_until(std::min(deadline, std::chrono::steady_clock::now() + look));
    }
}

}  // namespace carillon::tool
