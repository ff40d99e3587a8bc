// SPDX-License-Identifier: Apache-2.0
// Threads that end while they hold a client, and clients that other threads release.
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "device/gate.hpp"

namespace carillon::test {
namespace {

using Client = PersistentKernel<GatedHandler, Pool>::Client;

class DeadClientsTest : public KernelTest {
   protected:
    void SetUp() override {
        KernelTest::SetUp();
        if (!IsSkipped()) gate_.emplace(device());
    }
    // Makes requests on a client whose thread dies then.
    template <class Kernel>
    void die(Kernel& kernel, std::uint64_t requests, std::uint64_t gate) {
        std::thread([&] {
            auto client = std::make_unique<Client>(kernel.client());
            for (std::uint64_t i = 0; i < requests; ++i) (void)client->submit({i, gate}, patience);
            dead_.push_back(std::move(client));
        }).join();
    }

    std::optional<Gate> gate_;
    std::vector<std::unique_ptr<Client>> dead_;
};
CARILLON_ON_EVERY_DEVICE(DeadClientsTest);

// Catches places that are never free again: there are those of one client only.
TEST_P(DeadClientsTest, clientAfterManyThatDiedHasAllItsReplies) {
    PersistentKernel<GatedHandler, Pool> kernel(device(), {.pool = {.clients = 1, .replies = 4}},
                                                GatedHandler{gate_->device_view()});
    for (int i = 0; i < 20; ++i) die(kernel, 4, 0);
    auto client = kernel.client();
    std::vector<Ticket> tickets;
    for (std::uint64_t i = 0; i < 4; ++i) tickets.push_back(client.submit({i, 0}, patience));
    for (std::uint64_t i = 0; i < 4; ++i) {
        EXPECT_EQ(client.wait(tickets[i], patience).value, 3 * i + 1);
    }
}

TEST_P(DeadClientsTest, lateReplyToTheDeadIsNotTheNextClients) {
    PersistentKernel<GatedHandler, Pool> kernel(device(), {.pool = {.clients = 1, .replies = 2}},
                                                GatedHandler{gate_->device_view()});
    die(kernel, 1, 1);
    auto client = kernel.client();
    Ticket const behind = client.submit({5, 0}, patience);
    gate_->open(1);
    EXPECT_EQ(client.wait(behind, patience).value, 16U);
}

// Another thread goes on with the client. Catches replies that it takes from the next client.
TEST_P(DeadClientsTest, clientOfAThreadThatEndedIsRefusedWhenItsPlaceIsAnothers) {
    PersistentKernel<GatedHandler, Pool> kernel(device(), {.pool = {.clients = 1, .replies = 2}},
                                                GatedHandler{gate_->device_view()});
    die(kernel, 0, 0);
    Client& handed = *dead_[0];
    Ticket const before = handed.submit({1, 0}, patience);
    auto client = kernel.client();
    constexpr char const* why = "the thread that made this client has ended";
    for (std::uint64_t i = 0; i < 20; ++i) {
        Ticket const ticket = client.submit({i, 0}, patience);
        CARILLON_EXPECT_ERROR(handed.wait(before, patience), UsageError, why);
        CARILLON_EXPECT_ERROR(handed.try_take(before), UsageError, why);
        CARILLON_EXPECT_ERROR(handed.call({7, 0}, patience), UsageError, why);
        CARILLON_EXPECT_ERROR((void)handed.try_submit({7, 0}), UsageError, why);
        EXPECT_EQ(client.wait(ticket, patience).value, 3 * i + 1);
    }
    handed.abandon(before);
    kernel.drain(patience);
}

TEST_P(DeadClientsTest, drainDoesNotWaitForTheDead) {
    PersistentKernel<GatedHandler, Pool> kernel(device(), {.pool = {.clients = 2}},
                                                GatedHandler{gate_->device_view()});
    die(kernel, 3, 0);
    kernel.drain(patience);
    EXPECT_EQ(kernel.state(), KernelState::stopped);
}

TEST_P(DeadClientsTest, clientThatAnotherThreadLetsGoLeavesItsRoom) {
    PersistentKernel<GatedHandler, Pool> kernel(device(), {.pool = {.clients = 1}},
                                                GatedHandler{gate_->device_view()});
    for (std::uint64_t i = 0; i < 10; ++i) {
        auto client = std::make_unique<Client>(kernel.client());
        EXPECT_EQ(client->call({i, 0}, patience).value, 3 * i + 1);
        std::thread([&] { client.reset(); }).join();
    }
}

}  // namespace
}  // namespace carillon::test
