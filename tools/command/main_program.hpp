// SPDX-License-Identifier: Apache-2.0
// The parts that all main programs with commands share: they read the command line, run one
// command, and report an error in one line.
#pragma once

#include <memory>
#include <span>

#include "command/command.hpp"

namespace carillon::tool {

// A subcommand, and its texts for --help and for its man page.
struct CommandEntry {
    char const* group;  // the heading in the list of subcommands
    char const* name;
    char const* what;      // a verb phrase, in that list
    char const* about;     // sentences, in the subcommand's own help
    char const* examples;  // lines: two spaces, a command line, two or more spaces, its effect
    std::unique_ptr<Command> (*make)();
};

// The commands are in the order of --help. A program of one command has its options itself, and no
// subcommand.
struct Program {
    char const* name;
    char const* what;
    char const* examples;  // as in CommandEntry
    std::span<CommandEntry const> commands;
};

// Returns the exit status: 0 success, 1 failure, 2 usage, 130 a measurement that SIGINT ended.
[[nodiscard]] int run_program(Program const& program, int argc, char** argv);

}  // namespace carillon::tool
