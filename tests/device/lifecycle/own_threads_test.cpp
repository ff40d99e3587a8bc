// SPDX-License-Identifier: Apache-2.0
// The threads of the library, as others of the process see them.
#include <pthread.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "support/eventually.hpp"

namespace carillon::test {

struct AskForAStack {
    HostService<int, int>::Caller host;

    CARILLON_HD int operator()(int value) {
        int size = 0;
        bool const answered = host.call(value, size, 20'000'000'000) == HostCallResult::answered;
        return answered ? size : -1;
    }
};

namespace {

struct Plus {
    CARILLON_HD int operator()(int value) const { return value + 1; }
};

// The signals that each of the library's threads blocks, a bit each, by the thread's name. Threads
// of a driver inherit the name of the thread that opens it.
std::map<std::string, std::uint64_t> own_threads() {
    std::map<std::string, std::uint64_t> found;
    std::error_code error;
    for (auto const& each : std::filesystem::directory_iterator("/proc/self/task", error)) {
        std::ifstream status(each.path() / "status");
        std::string name;
        for (std::string line; std::getline(status, line);) {
            if (line.starts_with("Name:\t")) name = line.substr(6);
            bool const own = name.starts_with("carillon-") && name != "carillon-open";
            if (!own || !line.starts_with("SigBlk:\t")) continue;
            found[name] = std::stoull(line.substr(8), nullptr, 16);
        }
    }
    return found;
}
bool blocks(std::uint64_t mask, int signal) { return (mask >> (signal - 1) & 1U) != 0; }

bool is_as_promised(std::pair<std::string const, std::uint64_t> const& thread) {
    auto const blocked = [&](int signal) { return blocks(thread.second, signal); };
    return std::ranges::all_of(
               std::array{SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD, SIGPIPE, SIGPROF}, blocked) &&
           std::ranges::none_of(std::array{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS},
                                blocked);
}

class OwnThreadsTest : public KernelTest {};
CARILLON_ON_EVERY_DEVICE(OwnThreadsTest);

TEST_P(OwnThreadsTest, haveNamesAndBlockAllSignalsButTheirOwn) {
    HostService<int, int> const service(device(), [](int const& value) { return value; });
    PersistentKernel<Plus> kernel(device());
    EXPECT_EQ(kernel.channel().call(1, patience), 2);
    auto const there = [](char const* name) { return own_threads().contains(name); };
    EXPECT_TRUE(eventually([&] { return there("carillon-heart") && there("carillon-host"); }));
    EXPECT_TRUE(eventually([&] { return on_gpu() || there("carillon-block"); }));
    // A thread that begins or ends blocks more for a moment.
    EXPECT_TRUE(eventually([] { return std::ranges::all_of(own_threads(), is_as_promised); }));
}

TEST_P(OwnThreadsTest, whatStartsThemKeepsItsOwnSignals) {
    sigset_t before;
    sigset_t after;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
    { PersistentKernel<Plus> const kernel(device()); }
    ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
    for (int each = 1; each < 32; ++each) {
        EXPECT_EQ(sigismember(&before, each), sigismember(&after, each)) << each;
    }
}

// The size of the calling thread's stack.
std::size_t stack_bytes() {
    ::pthread_attr_t attributes;
    std::size_t size = 0;
    if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return 0;
    (void)::pthread_attr_getstacksize(&attributes, &size);
    (void)::pthread_attr_destroy(&attributes);
    return size;
}

// RLIMIT_STACK sets the size of the stacks of all other threads.
TEST_P(OwnThreadsTest, haveRoomHoweverSmallStacksAre) {
    ::pthread_attr_t before;
    ASSERT_EQ(::pthread_getattr_default_np(&before), 0);
    ::pthread_attr_t small;
    ASSERT_EQ(::pthread_getattr_default_np(&small), 0);
    ASSERT_EQ(::pthread_attr_setstacksize(&small, std::size_t{1} << 18), 0);
    ASSERT_EQ(::pthread_setattr_default_np(&small), 0);
    HostService<int, int> const service(device(),
                                        [](int const&) { return static_cast<int>(stack_bytes()); });
    ASSERT_EQ(::pthread_setattr_default_np(&before), 0);
    PersistentKernel<AskForAStack> kernel(device(), {}, {service.device_handle()});
    EXPECT_GE(kernel.channel().call(0, patience), 1 << 20);
}

}  // namespace
}  // namespace carillon::test
