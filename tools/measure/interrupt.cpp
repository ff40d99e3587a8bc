// SPDX-License-Identifier: Apache-2.0
#include "measure/interrupt.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
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
        for (;;) ::pause();
    }).detach();
}

void sleep_until(std::chrono::steady_clock::time_point deadline) {
    constexpr std::chrono::milliseconds look{50};
    while (time_is_left(deadline)) {
        std::this_thread::sleep_until(std::min(deadline, std::chrono::steady_clock::now() + look));
    }
}

}  // namespace carillon::tool
