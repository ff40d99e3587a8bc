// SPDX-License-Identifier: Apache-2.0
// Clients that follow their owner through restarts, by the loop of docs/guide/processes.md. P are
// owners, C clients, each in a process of its own. CARILLON_RESTARTS: how many; scripts/restarts
// asks for 1000.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "carillon/carillon.hpp"
#include "ipc/peer_process.hpp"

namespace carillon::test {
namespace {

unsigned restarts_asked_for() {
    char const* const given = std::getenv("CARILLON_RESTARTS");
    return given == nullptr ? 10 : static_cast<unsigned>(std::stoul(given));
}

// Threads that never sleep.
class Load {
   public:
    explicit Load(unsigned threads) {
        for (unsigned i = 0; i < threads; ++i) {
            threads_.emplace_back([this] {
                while (!over_) {
                }
            });
        }
    }
    ~Load() { over_ = true; }
    Load(Load const&) = delete;
    Load& operator=(Load const&) = delete;

   private:
    std::atomic<bool> over_ = false;
    std::vector<std::jthread> threads_;
};

// Catches an error of a restart that the loop does not handle: then a client ends with it.
TEST(RestartsTest, loopOfTheDocsHandlesWhateverARestartBrings) {
    unsigned const restarts = restarts_asked_for();
    SocketPath const path;
    std::vector<Process> clients;
    for (char const* object : {"risk", "risk", "quotes"}) {
        clients.emplace_back(std::vector<std::string>{"follow-owners", path.get(), object});
    }
    Load const load(std::thread::hardware_concurrency());
    std::mt19937 random(1);
    for (unsigned i = 0; i < restarts; ++i) {
        // 1. P is started while a client still has the former owner's place. 2. C calls. 3. P is
        // killed, or told to end.
        Process owner({"own-several", path.get(), "2"});
        ASSERT_EQ(owner.line(), "serving") << "restart " << i;
        std::this_thread::sleep_for(std::chrono::milliseconds(random() % 30));
        if (i % 2 == 0) {
            EXPECT_TRUE(owner.kill());
        } else {
            owner.close_input();
            EXPECT_EQ(owner.status(), 0);
        }
    }
    // 4. The last one stays until each client has its end.
    Process const owner({"own-several", path.get(), "2"});
    std::uint64_t all = 0;
    for (Process& client : clients) {
        client.close_input();
        std::string const line = client.line();
        EXPECT_EQ(client.status(), 0) << line;
        std::uint64_t answered = 0;
        std::uint64_t unknown = 0;
        EXPECT_EQ(std::sscanf(line.c_str(), "answered %lu unknown %lu", &answered, &unknown), 2)
            << line;
        all += answered;
    }
    fmt::print("restarts {} clients {} answered {}\n", restarts, clients.size(), all);
}

}  // namespace
}  // namespace carillon::test
