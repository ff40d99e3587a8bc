// SPDX-License-Identifier: Apache-2.0
// The parts that all main programs with commands share: they read the command line, run one
// command, and report an error in one line.
#pragma once

#include <memory>
#include <span>

#include "command/command.hpp"

namespace carillon::tool {

struct CommandEntry {
    char const* name;
    char const* what;  // for --help
    std::unique_ptr<Command> (*make)();
};

// The commands are in the order of --help. A program of one command has its options itself, and no
// subcommand.
struct Program {
    char const* name;
    char const* what;
    std::span<CommandEntry const> commands;
};

// Returns the exit status: 0 success, 1 failure, 2 usage.
[[nodiscard]] int run_program(Program const& program, int argc, char** argv);

}  // namespace carillon::tool
