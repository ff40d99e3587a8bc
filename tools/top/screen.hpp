// SPDX-License-Identifier: Apache-2.0
// A terminal that a program draws on, and gives back as it was.
#pragma once

#include <termios.h>
#include <carillon/memory.hpp>

#include <chrono>
#include <string>

namespace carillon::tool {

// What ends a program that looks again and again. Made before any thread is, so that none of them
// takes the signals.
class Ends {
   public:
    Ends();
    // Waits, and says whether the program is to end: by a signal, or by q or Ctrl-C where `keys`
    // are looked at.
    [[nodiscard]] bool come_within(std::chrono::milliseconds time, bool keys);

   private:
    [[nodiscard]] static bool key_ends();

    FileDescriptor signals_;
};

// The other screen of the terminal that standard output is, without a cursor, and keys as they are
// typed. Its destructor gives back what was there.
class Screen {
   public:
    Screen();
    Screen(Screen const&) = delete;
    Screen& operator=(Screen const&) = delete;
    ~Screen();

    // Standard input and output are a terminal.
    [[nodiscard]] static bool there();
    // As many lines of it as there is room for, each cut at the edge.
    static void draw(std::string const& text);

   private:
    ::termios before_{};
};

}  // namespace carillon::tool
