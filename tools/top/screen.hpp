// SPDX-License-Identifier: Apache-2.0
// A terminal that a program draws on, and gives back as it was.
#pragma once

#include <termios.h>

#include <string>

namespace carillon::tool {

// The other screen of the terminal that standard output is, without a cursor, and keys as they are
// typed. Its destructor gives back what was there.
class Screen {
   public:
    Screen();
    Screen(Screen const&) = delete;
    Screen& operator=(Screen const&) = delete;
    ~Screen();

    // Standard input and output are a terminal on which the cursor can be moved.
    [[nodiscard]] static bool there();
    // As many lines of it as there is room for, each cut at the edge.
    static void draw(std::string const& text);

   private:
    ::termios before_{};
};

}  // namespace carillon::tool
