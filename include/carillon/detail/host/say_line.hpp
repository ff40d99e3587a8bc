// SPDX-License-Identifier: Apache-2.0
// The library's lines for people on stderr.
#pragma once

#include <chrono>
#include <string_view>

namespace carillon::detail {

// Writes a line to stderr if that does not wait; otherwise queues it, and a thread of the library
// writes it. So the caller never waits for a reader of stderr, and no signal comes to the process
// if there is no reader. A line is lost if the queue is full or stderr does not take it; the next
// line that is written says how many were lost. A process that exits in order, or by quick_exit(),
// waits a fifth of a second for its lines. A forked child has its own queue and thread.
void say_line(std::string_view line) noexcept;

// Waits until each line that was queued before is written or lost. False: the time was too short.
bool lines_are_written(std::chrono::nanoseconds longest) noexcept;

}  // namespace carillon::detail
