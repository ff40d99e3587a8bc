// SPDX-License-Identifier: Apache-2.0
// The library's lines for people on stderr, which never block the caller.
#pragma once

#include <chrono>
#include <string_view>

namespace carillon::detail {

// Writes a line to stderr if that does not wait; otherwise queues it for a thread of the library.
// So the caller never waits for a reader of stderr, and no signal reaches the process if there is
// no reader. A line is lost if the queue is full or stderr does not take it; the next written line
// says how many were lost. A process that exits normally, or by quick_exit(), waits a fifth of a
// second for its lines. A forked child has its own queue and thread.
void say_line(std::string_view line) noexcept;

// Waits until each queued line is written or lost; returns false if the time was too short.
bool lines_are_written(std::chrono::nanoseconds longest) noexcept;

}  // namespace carillon::detail
