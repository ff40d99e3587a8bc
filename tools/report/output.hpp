// SPDX-License-Identifier: Apache-2.0
// Standard output as a command uses it: output that could not be written is an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace carillon::tool {

// To be called before anything else. A standard stream that is closed is opened on /dev/null the
// wrong way round: no other file takes its number, and using it fails. A reader that goes away, and
// a file that reaches RLIMIT_FSIZE, are errors of a write and no signals that end the command.
void prepare_standard_streams();

// Writes what standard output still holds. Throws SystemError, whose call() is output_name, if any
// of the output was lost.
inline constexpr char const* output_name = "standard output";
void flush_output();
// Flushes for a command that serves others: a reader that has gone is no error.
void flush_output_if_read();

// Whether `path` means standard output: "-", or a name of the file that standard output is.
[[nodiscard]] bool is_output(std::string const& path);

// How many characters a line of standard output or error, given by its descriptor, may have: the
// terminal's width, or else $COLUMNS, or else 80 on a terminal.
inline constexpr std::size_t unlimited_width = SIZE_MAX;
[[nodiscard]] std::size_t output_width(int descriptor);
// How many characters a text in UTF-8 has.
[[nodiscard]] std::size_t characters(std::string_view text);

// Whether standard output or error, given by its descriptor, is a terminal on which the cursor can
// be moved.
[[nodiscard]] bool is_drawable(int descriptor);

}  // namespace carillon::tool
