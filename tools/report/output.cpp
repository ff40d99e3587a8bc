// SPDX-License-Identifier: Apache-2.0
#include "report/output.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <carillon/error.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace carillon::tool {

void prepare_standard_streams() {
    for (int const each : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(each, F_GETFD) >= 0 || errno != EBADF) continue;
        // Opens the lowest free number, which is this one.
        (void)::open("/dev/null", each == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
    for (int const each : {SIGPIPE, SIGXFSZ}) (void)std::signal(each, SIG_IGN);
}

void flush_output() {
    errno = 0;
    bool const failed = std::fflush(stdout) != 0;
    if (failed || std::ferror(stdout) != 0) throw SystemError(output_name, errno, "");
}

void flush_output_if_read() {
    try {
        flush_output();
    } catch (SystemError const& error) {
        if (error.code() != EPIPE) throw;
        std::clearerr(stdout);
    }
}

bool is_output(std::string const& path) {
    if (path == "-") return true;
    struct stat named {};
    struct stat output {};
    return ::stat(path.c_str(), &named) == 0 && ::fstat(STDOUT_FILENO, &output) == 0 &&
           named.st_dev == output.st_dev && named.st_ino == output.st_ino;
}

std::size_t output_width(int descriptor) {
    ::winsize size{};
    bool const is_terminal = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0;
    if (size.ws_col != 0) return size.ws_col;
    char const* const columns = std::getenv("COLUMNS");
    unsigned long const width = columns != nullptr ? std::strtoul(columns, nullptr, 10) : 0;
    if (width != 0) return width;
    return is_terminal ? 80 : unlimited_width;
}

std::size_t characters(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char each) { return (static_cast<unsigned char>(each) & 0xc0U) != 0x80; }));
}

bool is_drawable(int descriptor) {
    if (::isatty(descriptor) == 0) return false;
    char const* const terminal = std::getenv("TERM");
    std::string_view const kind = terminal != nullptr ? terminal : "";
    return !kind.empty() && kind != "dumb";
}

}  // namespace carillon::tool
