// SPDX-License-Identifier: Apache-2.0
// The threads of the library, as others of the process see them.
#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "support/eventually.hpp"

namespace carillon::test {
namespace {

struct Plus {
    CARILLON_HD int operator()(int value) const { return value + 1; }
};

// Name: the signals that it blocks, a bit each; of the threads whose names are the library's.
// Threads of a driver inherit the name of the one that opens it.
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

}  // namespace
}  // namespace carillon::test
