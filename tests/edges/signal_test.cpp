// SPDX-License-Identifier: Apache-2.0
// Signals in the middle of things: a process that is stopped and continued, handlers that run
// during calls, system calls that are interrupted.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "carillon/placement.hpp"
#include "device/bodies.hpp"
#include "device/device_fixture.hpp"

namespace carillon::test {
namespace {

std::atomic<std::uint64_t> handled{0};

// Sends SIGUSR1, without SA_RESTART, to one thread again and again.
class Pestered {
   public:
    explicit Pestered(std::chrono::microseconds pause)
        : thread_([self = ::pthread_self(), pause](std::stop_token const& stop) {
              while (!stop.stop_requested()) {
                  ::pthread_kill(self, SIGUSR1);
                  std::this_thread::sleep_for(pause);
              }
          }) {}

   private:
    struct Handler {
        Handler() {
            struct sigaction action {};
            action.sa_handler = [](int) { ++handled; };
            ::sigaction(SIGUSR1, &action, nullptr);
        }
    } handler_;  // stays
    std::jthread thread_;
};

class SignalTest : public KernelTest {};
CARILLON_ON_EVERY_DEVICE(SignalTest);

TEST_P(SignalTest, handlersThatRunDuringCallsChangeNothing) {
    Pestered const pestered(std::chrono::microseconds(50));
    std::uint64_t const before = handled;
    PersistentKernel<GatedHandler> kernel(device());
    for (std::uint64_t i = 0; i < 2000 || handled < before + 20; ++i) {
        ASSERT_EQ(kernel.channel().call({i, 0}, patience).value, 3 * i + 1);
    }
    kernel.drain(patience);
}

// Waits of the system's, which do not poll: starts, sleeps, joins, files.
TEST_P(SignalTest, interruptedSystemCallsAreNoErrors) {
    Pestered const pestered(std::chrono::microseconds(20));
    for (int i = 0; i < 3; ++i) {
        Device const own = Device::open(on_gpu() ? GetParam() : "emulated");
        PersistentKernel<GatedHandler> kernel(own, {.blocks = 2});
        EXPECT_EQ(kernel.channel(1).call({1, 0}, patience).value, 4U);
        HostService<int, int> const service(
            own, [](int const& value) { return value; },
            {.thread = {.spin = 0ns, .sleep = std::chrono::milliseconds(5)}});
        service.flush(patience);
        kernel.stop(patience);
    }
    std::string folder = testing::TempDir() + "carillon-signals-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    auto const path = std::filesystem::path(folder) / "emulated.json";
    for (int i = 0; i < 50; ++i) {
        PlacementProfile profile;
        profile.device = device().info().name;
        profile.uuid = device().info().uuid;
        profile.sms = {{0, 1}};
        profile.cores = {{0, 1}};
        save_placement_profile(profile, path);
        EXPECT_EQ(load_placement_profile(path, device().info()).device, profile.device);
    }
    std::filesystem::remove_all(folder);
}

// P: forks C. C: stops P for a while, again and again, and continues it. P: calls meanwhile. The
// stops are shorter than a kernel waits for its host.
TEST_P(SignalTest, processThatIsStoppedAndContinuedLosesNoReply) {
    PersistentKernel<GatedHandler> kernel(device());
    pid_t const parent = ::getpid();
    pid_t const child = ::fork();
    if (child == 0) {
        for (int i = 0; i < 5; ++i) {
            ::kill(parent, SIGSTOP);
            ::usleep(30'000);
            ::kill(parent, SIGCONT);
            ::usleep(10'000);
        }
        ::_exit(0);
    }
    int status = 0;
    std::uint64_t i = 0;
    for (; ::waitpid(child, &status, WNOHANG) == 0; ++i) {
        ASSERT_EQ(kernel.channel().call({i, 0}, patience).value, 3 * i + 1);
    }
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_GT(i, 0U);
    EXPECT_EQ(kernel.state(), KernelState::running);
}

}  // namespace
}  // namespace carillon::test
