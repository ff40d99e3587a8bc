// SPDX-License-Identifier: Apache-2.0
#include "ipc/talk.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <carillon/detail/machine/pause.hpp>
#include <carillon/error.hpp>
#include <cerrno>
#include <cstring>

namespace carillon::tool {
namespace {

bool readable(int fd, std::chrono::milliseconds timeout) {
    ::pollfd watched{fd, POLLIN, 0};
    return ::poll(&watched, 1, static_cast<int>(timeout.count())) == 1;
}

bool readable_soon(int fd) {
    if (detail::cpu::available_processors() <= 2) return false;
    auto const end = std::chrono::steady_clock::now() + talk_spin;
    while (std::chrono::steady_clock::now() < end) {
        if (readable(fd, std::chrono::milliseconds(0))) return true;
    }
    return false;
}

}  // namespace

void Talk::say(std::string_view line) const {
    std::string const whole = std::string(line) + '\n';
    send(std::as_bytes(std::span(whole)));
}

void Talk::send(std::span<std::byte const> bytes) const {
    while (!bytes.empty()) {
        ssize_t const sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        // The other process has gone: line() returns its last line.
        if (sent < 0) return;
        bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
}

void Talk::finish() const { (void)::shutdown(socket_.get(), SHUT_WR); }

void Talk::read_more(std::chrono::nanoseconds timeout) {
    if (!readable_soon(socket_.get()) &&
        !readable(socket_.get(), std::chrono::ceil<std::chrono::milliseconds>(timeout))) {
        throw TimeoutError("ipc", "another process says nothing");
    }
    std::array<char, 65536> bytes{};
    ssize_t const got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got <= 0) throw Error("ipc", "another process has ended");
    read_.append(bytes.data(), static_cast<std::size_t>(got));
}

std::string Talk::line(std::chrono::nanoseconds timeout) {
    for (;;) {
        std::size_t const end = read_.find('\n');
        if (end != std::string::npos) {
            std::string line = read_.substr(0, end);
            read_.erase(0, end + 1);
            return line;
        }
        read_more(timeout);
    }
}

void Talk::read(std::span<std::byte> into) {
    while (!into.empty()) {
        if (read_.empty()) read_more(patience);
        std::size_t const some = std::min(into.size(), read_.size());
        std::memcpy(into.data(), read_.data(), some);
        read_.erase(0, some);
        into = into.subspan(some);
    }
}

bool Talk::heard() const {
    return read_.find('\n') != std::string::npos ||
           readable(socket_.get(), std::chrono::milliseconds(0));
}

}  // namespace carillon::tool
