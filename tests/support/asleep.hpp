// SPDX-License-Identifier: Apache-2.0
// Tells a test that a thread waits, where the thread itself cannot say so.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include "support/eventually.hpp"

namespace carillon::test {

// Whether the thread of this process with this number, as gettid() has it, sleeps in the kernel.
[[nodiscard]] inline bool is_asleep(pid_t thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string line;
    std::getline(file, line);
    // The state follows the name, which may contain anything.
    std::size_t const name_end = line.rfind(')');
    return name_end != std::string::npos && line.compare(name_end + 1, 3, " S ") == 0;
}

// Whether every thread of this process but the caller's sleeps.
[[nodiscard]] inline bool all_others_sleep() {
    pid_t const own = ::gettid();
    std::filesystem::directory_iterator const threads("/proc/self/task");
    return std::all_of(begin(threads), end(threads), [&](auto const& each) {
        pid_t const thread = std::stoi(each.path().filename().string());
        return thread == own || is_asleep(thread);
    });
}

// A thread that is joined at its end.
class SleepyThread {
   public:
    template <class Body>
    explicit SleepyThread(Body body)
        : thread_([this, body = std::move(body)] {
              number_ = ::gettid();
              body();
          }) {}

    // Returns true as soon as the body sleeps.
    [[nodiscard]] bool comes_to_sleep() const {
        return eventually([&] { return number_ != 0 && is_asleep(number_); });
    }

   private:
    std::atomic<pid_t> number_ = 0;
    std::jthread thread_;
};

}  // namespace carillon::test
