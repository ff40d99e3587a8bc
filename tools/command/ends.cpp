// SPDX-License-Identifier: Apache-2.0
#include "command/ends.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <carillon/error.hpp>
#include <cerrno>
#include <csignal>

namespace carillon::tool {
namespace {

constexpr char control_c = 3;

// `nohup` and a shell's `&` make a command ignore a signal: it does not end by that one.
bool is_ignored(int signal) {
    struct ::sigaction found {};
    return ::sigaction(signal, nullptr, &found) == 0 && found.sa_handler == SIG_IGN;
}

}  // namespace

Ends::Ends() {
    ::sigset_t set;
    ::sigemptyset(&set);
    for (int const signal : {SIGINT, SIGTERM, SIGHUP}) {
        if (!is_ignored(signal)) ::sigaddset(&set, signal);
    }
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    signals_ = FileDescriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (signals_.get() < 0) throw SystemError("signalfd", errno, "");
}

bool Ends::come_within(std::chrono::milliseconds time, bool keys) {
    auto const end = std::chrono::steady_clock::now() + time;
    for (;;) {
        auto const left = std::chrono::ceil<std::chrono::milliseconds>(
            std::max(end - std::chrono::steady_clock::now(), std::chrono::nanoseconds(0)));
        std::array<::pollfd, 2> watched{
            {{signals_.get(), POLLIN, 0}, {keys ? STDIN_FILENO : -1, POLLIN, 0}}};
        (void)::poll(watched.data(), watched.size(), static_cast<int>(left.count()));
        if (watched[0].revents != 0) return true;
        if (watched[1].revents == 0) {
            if (left.count() == 0) return false;
            continue;
        }
        if (key_ends()) return true;
    }
}

bool Ends::key_ends() {
    std::array<char, 64> keys{};
    ssize_t const got = ::read(STDIN_FILENO, keys.data(), keys.size());
    if (got <= 0) return true;  // nobody types any more
    return std::any_of(keys.begin(), keys.begin() + got,
                       [](char key) { return key == 'q' || key == 'Q' || key == control_c; });
}

int Ends::await() {
    for (;;) {
        (void)come_within(std::chrono::hours(1));
        ::signalfd_siginfo signal{};
        if (::read(signals_.get(), &signal, sizeof(signal)) == sizeof(signal))
            return static_cast<int>(signal.ssi_signo);
    }
}

}  // namespace carillon::tool
