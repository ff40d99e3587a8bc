// SPDX-License-Identifier: Apache-2.0
// The progress of a measurement, in a line of the terminal on standard error.
#pragma once

namespace carillon::tool {

// A measurement begins: the time that is left is reckoned from now on.
void start_progress();

// Shows the share that is done, and the time that is left. Shows nothing without a terminal.
void show_progress(double share);

// Clears the line, before text is printed.
void clear_progress();

}  // namespace carillon::tool
