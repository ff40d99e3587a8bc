// SPDX-License-Identifier: Apache-2.0
#include "command/ends.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <carillon/error.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>

namespace carillon::tool {
namespace {

constexpr char control_c = 3;
// Signals within this time are one request to end.
constexpr std::chrono::milliseconds one_request{500};

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
    return come_before(-1, time, keys);
}

bool Ends::come_before(int done, std::chrono::milliseconds time, bool keys) {
    auto const end = std::chrono::steady_clock::now() + time;
    for (;;) {
        auto const left = std::chrono::ceil<std::chrono::milliseconds>(
            std::max(end - std::chrono::steady_clock::now(), std::chrono::nanoseconds(0)));
        std::array<::pollfd, 3> watched{{{signals_.get(), POLLIN, 0},
                                         {keys ? STDIN_FILENO : -1, POLLIN, 0},
                                         {done, POLLIN, 0}}};
        (void)::poll(watched.data(), watched.size(), static_cast<int>(left.count()));
        if (watched[2].revents != 0) return false;
        if (watched[0].revents != 0 && signal_ends()) return true;
        if (watched[1].revents != 0 && key_ends()) return true;
        if (left.count() == 0) return false;
    }
}

bool Ends::key_ends() {
    std::array<char, 64> keys{};
    ssize_t const got = ::read(STDIN_FILENO, keys.data(), keys.size());
    if (got <= 0) return true;  // the terminal has gone
    return std::any_of(keys.begin(), keys.begin() + got,
                       [](char key) { return key == 'q' || key == 'Q' || key == control_c; });
}

void Ends::do_or_leave(std::function<void()> const& work, std::function<int()> const& leave,
                       bool keys) {
    FileDescriptor const done(::eventfd(0, EFD_CLOEXEC));
    if (done.get() < 0) throw SystemError("eventfd", errno, "");
    auto worked = std::async(std::launch::async, [&] {
        std::exception_ptr failure;
        try {
            work();
        } catch (...) {
            failure = std::current_exception();
        }
        (void)::eventfd_write(done.get(), 1);
        if (failure) std::rethrow_exception(failure);
    });
    if (come_before(done.get(), std::chrono::hours(24), keys)) leave_at_once(leave());
    worked.get();
}

void Ends::leave_at_once(int status) {
    std::fflush(stdout);
    std::_Exit(status);
}

int Ends::await() {
    for (;;) {
        (void)come_within(std::chrono::hours(1));
        auto const signal = take_signal();
        if (!signal) continue;
        same_until_ = std::chrono::steady_clock::now() + one_request;
        return *signal;
    }
}

std::optional<int> Ends::take_signal() {
    ::signalfd_siginfo signal{};
    if (::read(signals_.get(), &signal, sizeof(signal)) != sizeof(signal)) return {};
    return static_cast<int>(signal.ssi_signo);
}

bool Ends::signal_ends() {
    if (std::chrono::steady_clock::now() >= same_until_) return true;
    (void)take_signal();
    return false;
}

}  // namespace carillon::tool
