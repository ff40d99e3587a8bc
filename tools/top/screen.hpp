// SPDX-License-Identifier: Apache-2.0
// A terminal that a program draws on, and gives back as it was.
#pragma once

#include <termios.h>

#include <string>

namespace carillon::tool {

// The alternate screen of the terminal on standard output, without a cursor, with keys read as they
// are typed. The destructor restores the terminal.
class Screen {
   public:
    Screen();
    Screen(Screen const&) = delete;
    Screen& operator=(Screen const&) = delete;
    ~Screen();

    // Standard input and output are a terminal on which the cursor can be moved.
    [[nodiscard]] static bool there();
    // Draws as many lines of the text as fit, each cut at the edge.
    static void draw(std::string const& text);

   private:
    ::termios before_{};
};

}  // namespace carillon::tool
