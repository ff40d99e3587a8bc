// SPDX-License-Identifier: Apache-2.0
#include "top/screen.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <carillon/error.hpp>
#include <cerrno>
#include <cstdio>
#include <sstream>

#include "report/output.hpp"

namespace carillon::tool {
namespace {

// Sequences of ECMA-48, and some that xterm introduced; every terminal since understands them.
constexpr char const* other_screen = "\x1b[?1049h\x1b[?25l";
constexpr char const* first_screen = "\x1b[?25h\x1b[?1049l";
constexpr char const* top_left = "\x1b[H";
constexpr char const* clear_to_end_of_line = "\x1b[K";
constexpr char const* clear_below = "\x1b[J";

// The first `most` characters, in UTF-8.
std::string first_characters(std::string const& line, std::size_t most) {
    std::size_t at = 0;
    auto const begins = [&] { return (static_cast<unsigned char>(line[at]) & 0xc0U) != 0x80; };
    for (std::size_t seen = 0; at < line.size(); ++at) {
        if (begins() && seen++ == most) break;
    }
    return line.substr(0, at);
}

}  // namespace

bool Screen::there() { return ::isatty(STDIN_FILENO) != 0 && is_drawable(STDOUT_FILENO); }

Screen::Screen() {
    if (::tcgetattr(STDIN_FILENO, &before_) != 0) throw SystemError("tcgetattr", errno, "");
    ::termios keys = before_;
    // Ctrl-C and Ctrl-Z are keys as well: nothing stops the program before it has tidied up.
    keys.c_lflag &= ~static_cast<::tcflag_t>(ICANON | ECHO | ISIG);
    keys.c_cc[VMIN] = 0;
    keys.c_cc[VTIME] = 0;
    if (::tcsetattr(STDIN_FILENO, TCSANOW, &keys) != 0) throw SystemError("tcsetattr", errno, "");
    std::fputs(other_screen, stdout);
}

Screen::~Screen() {
    std::fputs(first_screen, stdout);
    std::fflush(stdout);
    (void)::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

void Screen::draw(std::string const& text) {
    ::winsize size{};
    bool const known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row != 0;
    std::size_t const rows = known ? size.ws_row : 24;
    std::size_t const columns = output_width(STDOUT_FILENO);
    std::string frame = top_left;
    std::istringstream lines(text);
    std::string line;
    for (std::size_t i = 0; i < rows && std::getline(lines, line); ++i) {
        if (i != 0) frame += '\n';
        frame += first_characters(line, columns);
        frame += clear_to_end_of_line;
    }
    frame += clear_below;
    std::fwrite(frame.data(), 1, frame.size(), stdout);
    flush_output();
}

}  // namespace carillon::tool
