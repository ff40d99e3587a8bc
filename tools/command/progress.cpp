// SPDX-License-Identifier: Apache-2.0
#include "command/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "report/output.hpp"

namespace carillon::tool {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::chrono::milliseconds between_lines{100};
constexpr std::chrono::seconds until_estimate{2};  // before, an estimate would be a guess

struct Line {
    Clock::time_point begin{};
    Clock::time_point drawn_at{};
    bool is_drawn = false;
};

Line& line() {
    static Line only;
    return only;
}

std::string time_left(Clock::duration passed, double share) {
    if (passed < until_estimate || share <= 0) return "";
    auto const seconds = static_cast<long>(Seconds(passed).count() * (1 - share) / share) + 1;
    if (seconds < 120) return fmt::format(", {} s left", seconds);
    return fmt::format(", {} min left", seconds / 60 + 1);
}

}  // namespace

void start_progress() { line().begin = Clock::now(); }

void show_progress(double share) {
    static bool const is_shown = is_drawable(STDERR_FILENO);
    if (!is_shown) return;
    if (share >= 1) return clear_progress();
    auto const now = Clock::now();
    if (now - line().drawn_at < between_lines) return;
    line().drawn_at = now;
    line().is_drawn = true;
    // The terminal may have gone, which is no error.
    std::fputs(fmt::format("\r{:3.0f} %{}\x1b[K", 100 * share, time_left(now - line().begin, share))
                   .c_str(),
               stderr);
}

void clear_progress() {
    if (!line().is_drawn) return;
    line().is_drawn = false;
    std::fputs("\r\x1b[K", stderr);
}

}  // namespace carillon::tool
