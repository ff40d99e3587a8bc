// SPDX-License-Identifier: Apache-2.0
#include "measure/interrupt.hpp"

#include <algorithm>
#include <csignal>
#include <thread>

namespace carillon::tool {

void end_at_interrupt() {
    struct ::sigaction action {};
    if (::sigaction(SIGINT, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) return;
    action = {};
    action.sa_handler = [](int /*signal*/) { detail_of_interrupt::seen.store(true); };
    action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
    (void)::sigaction(SIGINT, &action, nullptr);
}

void sleep_until(std::chrono::steady_clock::time_point deadline) {
    constexpr std::chrono::milliseconds look{50};
    while (time_is_left(deadline)) {
        std::this_thread::sleep_until(
            std::min(deadline, std::chrono::steady_clock::now() + look));
    }
}

}  // namespace carillon::tool
