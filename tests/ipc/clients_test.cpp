// SPDX-License-Identifier: Apache-2.0
// Clients of other processes command a kernel of this one. P is this process, which owns the
// kernel; C is a client, in a process of its own, which never loads CUDA.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "carillon/carillon.hpp"
#include "device/device_fixture.hpp"
#include "ipc/fixtures.hpp"

namespace carillon::test {
namespace {

using SharedKernel = PersistentKernel<CountingHandler, SharedChannels>;

class ClientsTest : public AtPath<KernelTest> {
   protected:
    [[nodiscard]] SharedKernel kernel(unsigned blocks) const {
        return SharedKernel(device(),
                            {.blocks = blocks, .capacity = 16, .idle = IdlePolicy::park()});
    }
};
CARILLON_ON_EVERY_DEVICE(ClientsTest);

// A client calls, and checks each reply; the first reply must be `first`.
void expect_calls(Process client, unsigned calls, unsigned first) {
    EXPECT_EQ(client.line(), "attached");
    EXPECT_EQ(client.line(), "first " + std::to_string(first)) << "of " << calls;
    EXPECT_EQ(client.status(), 0);
}

TEST_P(ClientsTest, anotherProcessIsAnswered) {
    // 1. P starts a kernel and serves.
    auto const owned = kernel(1);
    Server const server = owned.serve(path());
    // 2. C attaches and calls. 3. C goes.
    expect_calls(Process({"call", path(), "1000"}), 1000, 0);
}

TEST_P(ClientsTest, blockServesOneClientAfterAnotherAndKeepsItsState) {
    // 1. P starts a kernel of one block and serves.
    auto const owned = kernel(1);
    Server const server = owned.serve(path());
    // 2. A C comes, calls and goes, and then the next one.
    for (unsigned i = 0; i < 5; ++i) expect_calls(Process({"call", path(), "100"}), 100, 100 * i);
}

// So many clients attach, each to a block of its own, and then all call; none waits for another.
void expect_clients_at_once(std::string const& path, unsigned clients, unsigned calls) {
    std::vector<Process> all;
    for (unsigned i = 0; i < clients; ++i) {
        all.emplace_back(Process({"call", path, std::to_string(calls), "wait"}));
    }
    for (Process& client : all) EXPECT_EQ(client.line(), "attached");
    for (Process& client : all) client.tell("go on");
    for (Process& client : all) EXPECT_EQ(client.line(), "first 0");
    for (Process& client : all) EXPECT_EQ(client.status(), 0);
}

TEST_P(ClientsTest, eachOfSeveralHasABlock) {
    auto const owned = kernel(3);
    Server const server = owned.serve(path());
    expect_clients_at_once(path(), 3, 300);
}

TEST_P(ClientsTest, sixtyFourAtOnceCommandOneKernel) {
    auto const owned = kernel(64);
    Server const server = owned.serve(path());
    expect_clients_at_once(path(), 64, 30);
}

TEST_P(ClientsTest, oneThatWasKilledLeavesItsBlockToTheNext) {
    auto const owned = kernel(1);
    Server const server = owned.serve(path());
    // 1. C sends more than it takes. 2. It is killed.
    Process client = attached({"leave-replies", path()});
    EXPECT_TRUE(client.kill());
    // 3. The next C is let in once P has seen that, and is answered.
    EXPECT_TRUE(eventually([&] { return server.clients().empty(); }));
    Process next = attached({"call", path(), "50"});
    EXPECT_NE(next.line(), "");
    EXPECT_EQ(next.status(), 0);
}

TEST_P(ClientsTest, oneThatIsKilledAtAnyMomentHarmsNoOther) {
    auto const owned = kernel(2);
    Server const server = owned.serve(path());
    // 1. A C calls and calls.
    Process other = attached({"call", path(), "20000"});
    // 2. Others come, call, and are killed.
    for (unsigned i = 0; i < 10; ++i) {
        Process client = attached({"call", path(), "0"});
        std::this_thread::sleep_for(std::chrono::microseconds(137 * i));
        EXPECT_TRUE(client.kill());
        EXPECT_TRUE(eventually([&] { return server.clients().size() <= 1; }));
    }
    // 3. The first one has missed nothing.
    EXPECT_EQ(other.line(), "first 0");
    EXPECT_EQ(other.status(), 0);
}

TEST_P(ClientsTest, drainAnswersWhatWasSentAndTakesNothingNew) {
    auto owned = kernel(1);
    Server const server = owned.serve(path());
    // 1. C calls, and waits.
    Process client = attached({"ask-twice", path()});
    // 2. P drains its kernel, which ends.
    EXPECT_NO_THROW(owned.drain(patience));
    EXPECT_FALSE(owned.running());
    // 3. C's next call fails.
    EXPECT_TRUE(eventually([&] { return owned.state() == KernelState::stopped; }));
    client.tell("go on");
    EXPECT_EQ(client.line().substr(0, 8), "stopped:");
    EXPECT_EQ(client.status(), 0);
}

TEST_P(ClientsTest, stopIsToldToClients) {
    auto owned = kernel(1);
    Server const server = owned.serve(path());
    Process client = attached({"ask-twice", path()});
    owned.stop();
    client.tell("go on");
    EXPECT_EQ(client.line().substr(0, 8), "stopped:");
    EXPECT_EQ(client.status(), 0);
}

TEST_P(ClientsTest, closedServerIsAnOwnerThatHasGone) {
    auto const owned = kernel(1);
    std::optional<Server> server(owned.serve(path()));
    Process client = attached({"ask-twice", path()});
    server.reset();
    client.tell("go on");
    EXPECT_EQ(client.line().substr(0, 11), "owner gone:");
    EXPECT_EQ(client.status(), 0);
}

TEST_P(ClientsTest, loadsNoCuda) {
    auto const owned = kernel(1);
    Server const server = owned.serve(path());
    Process client({"list-drivers", path()});
    std::string const loaded = client.line();
    EXPECT_EQ(loaded.find("libcuda"), std::string::npos) << loaded;
    EXPECT_EQ(client.line(), "why: ");
    EXPECT_EQ(client.status(), 0);
    if (device().info().memory_source == MemorySource::memfd) {
        EXPECT_EQ(loaded, "loaded:");
    }
}

TEST_P(ClientsTest, oneWithoutVulkanHasItsRingsInHostMemoryAndIsToldWhy) {
    if (device().info().memory_source != MemorySource::vulkan) {
        GTEST_SKIP() << "rings of this device need no Vulkan";
    }
    auto const owned = kernel(1);
    Server const server = owned.serve(path());
    Process client({"list-drivers", path()},
                   {"VK_DRIVER_FILES=/nonexistent.json", "VK_ICD_FILENAMES=/nonexistent.json"});
    EXPECT_NE(client.line(), "");
    std::string const why = client.line();
    EXPECT_NE(why.find("Vulkan"), std::string::npos) << why;
    EXPECT_EQ(client.status(), 0);
}

}  // namespace
}  // namespace carillon::test
