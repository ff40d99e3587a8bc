// SPDX-License-Identifier: Apache-2.0
// A command of `carillon`. To add one: a room with a class like this, and a line in main.cpp.
#pragma once

#include <memory>

namespace CLI {
class App;
}

namespace carillon::tool {

class Command {
   public:
    Command() = default;
    virtual ~Command() = default;
    Command(Command const&) = delete;  // its options are bound where they are
    Command& operator=(Command const&) = delete;

    virtual void add_options(CLI::App& command_line) = 0;
    // Runs the command after its options have been read. An exception is reported in one line.
    virtual void run() = 0;
};

}  // namespace carillon::tool
