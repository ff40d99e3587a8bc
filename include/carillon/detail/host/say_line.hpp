// SPDX-License-Identifier: Apache-2.0
// Lines for people, which the library writes to stderr.
#pragma once

#include <chrono>
#include <string_view>

namespace carillon::detail {

// Writes a line to stderr, where that takes no waiting; else it is queued, and a thread of the
// library writes it. So the caller never waits for whoever reads stderr, and no signal comes to the
// process when nobody reads it. A line is lost when the queue is full or stderr does not take it;
// the next line that is written says how many were lost. A process that exits in order, or by
// quick_exit(), waits a fifth of a second for its lines. A child that was forked has a queue and a
// thread of its own.
void say_line(std::string_view line) noexcept;

// Waits until each line that was queued before is written or lost. False: the time was too short.
bool lines_are_written(std::chrono::nanoseconds longest) noexcept;

}  // namespace carillon::detail
