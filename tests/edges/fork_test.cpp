// SPDX-License-Identifier: Apache-2.0
// A process that forks. C is the child: every use of an inherited object is an error and harms
// nobody. P is the parent, which goes on.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "device/gate.hpp"
#include "support/in_child.hpp"

namespace carillon::test {
namespace {

// The number of the first of them that is no ForkError, from 1; 0 if all are.
template <class... Calls>
int all_fork_errors(Calls&&... calls) {
    int number = 0;
    int wrong = 0;
    ((++number, wrong = wrong == 0 && !is_fork_error(calls) ? number : wrong), ...);
    return wrong;
}

class ForkTest : public KernelTest {
   protected:
    void SetUp() override {
        KernelTest::SetUp();
        if (CARILLON_THREAD_SANITIZER != 0 && !IsSkipped()) {
            GTEST_SKIP() << "the thread sanitizer does not follow a fork beside threads";
        }
    }
    using Kernel = PersistentKernel<GatedHandler>;

    static void expect_answer(Kernel& kernel) {
        EXPECT_EQ(kernel.channel().call({7, 0}, patience).value, 22U);
    }
};
CARILLON_ON_EVERY_DEVICE(ForkTest);

// Catches a destructor in the child that stops the parent's kernel, or waits for a thread that is
// not there.
TEST_P(ForkTest, childThatUnwindsLeavesTheKernelAlone) {
    auto kernel = std::make_unique<Kernel>(device());
    expect_answer(*kernel);
    EXPECT_EQ(in_child([&] {
                  kernel.reset();
                  return 0;
              }),
              0);
    expect_answer(*kernel);
    EXPECT_EQ(kernel->state(), KernelState::running);
    kernel->stop(patience);
}

// Catches a static destructor that waits for a thread that the child does not have.
TEST_P(ForkTest, childThatExitsInOrderBesideAKernelInStaticStorageEnds) {
    if (on_gpu()) GTEST_SKIP() << "what CUDA does at the exit of a child is not ours";
    static std::optional<Kernel> kernel;
    kernel.emplace(device());
    pid_t const child = ::fork();
    if (child == 0) {
        ::dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);  // of a leak checker
        std::exit(0);  // NOLINT: the order that is tested
    }
    int const outcome = outcome_of(child);
    EXPECT_NE(outcome, hung);
    EXPECT_LT(outcome, killed_by);
    expect_answer(*kernel);
    kernel.reset();
}

TEST_P(ForkTest, everyCallOfWhatTheChildInheritedIsAForkError) {
    Kernel kernel(device());
    PersistentKernel<GatedHandler, Pool> pool(device(), {.pool = {.clients = 2}});
    auto client = pool.client();
    auto& channel = kernel.channel();
    Ticket const ticket = channel.submit({1, 0}, patience);
    Ticket const asked = client.submit({2, 0}, patience);
    Tickets tickets;
    std::array<std::byte, 64> bytes{};
    EXPECT_EQ(in_child([&] {
                  return all_fork_errors(
                      [&] {
                          return channel.call({1, 0}, patience);
                      },
                      [&] {
                          return channel.try_submit({1, 0});
                      },
                      [&] { return channel.try_take(ticket); },
                      [&] { return channel.wait(ticket, patience); }, [&] { channel.warm(); },
                      [&] { return channel.try_submit_n({}); },
                      [&] { channel.submit_n({}, tickets, patience); },
                      [&] { return channel.try_take_n(tickets, {}); },
                      [&] { channel.take_n(tickets, {}, patience); }, [&] { client.warm(); },
                      [&] {
                          return client.call({1, 0}, patience);
                      },
                      [&] { return client.wait(asked, patience); }, [&] { return pool.client(); },
                      [&] { return kernel.state(); }, [&] { return kernel.activity(); },
                      [&] { return kernel.running(); }, [&] { return channel.all_answered(); },
                      [&] { kernel.stop(patience); }, [&] { kernel.drain(patience); },
                      [&] { return Kernel(device()).blocks(); },
                      [&] { return device().allocate(64).size(); },
                      [&] { return device().allocate_host(64).size(); },
                      [&] { return device().allocate_shared_host(64).size(); },
                      [&] { return device().register_host(bytes).size(); });
              }),
              0);
    EXPECT_EQ(channel.wait(ticket, patience).value, 4U);
    EXPECT_EQ(client.wait(asked, patience).value, 7U);
}

TEST_P(ForkTest, ringsAndTheirLikeAreTheParents) {
    Memory const memory = device().allocate(4096);
    Ring<int, Direction::to_device> ring(device());
    Ring<int, Direction::to_host> back(device());
    MpmcRing<int, Direction::to_device> const shared(device());
    auto producer = shared.producer();
    Arena const arena(device(), 4096);
    auto piece = std::make_optional(arena.allocate(64));
    Flag<int, Direction::to_device> flag(device());
    Flag<int, Direction::to_host> const status(device());
    Doorbell<Direction::to_device> doorbell(device());
    Mailbox<int, Direction::to_device> mailbox(device(), 1);
    ChunkRing<> chunks(device(), {.chunk_bytes = 64, .chunks = 2});
    auto chunk = chunks.try_claim();
    EXPECT_EQ(in_child([&] {
                  return all_fork_errors(
                      [&] { return ring.try_push(1); }, [&] { return back.try_pop(); },
                      [&] { return producer.try_push(1); }, [&] { return shared.producer(); },
                      [&] { return arena.allocate(64).size(); }, [&] { return arena.used(); },
                      [&] { flag.set(1); }, [&] { return status.get(); }, [&] { doorbell.ring(); },
                      [&] { mailbox.set(2); }, [&] { return chunks.try_claim(); },
                      [&] { return chunk->bytes(); }, [&] { chunk->commit(1); },
                      [&] { return memory.host_ptr(); }, [&] { memory.flush(0, 1); },
                      [&] { return memory.export_fd(); });
              }),
              0);
    // A child that releases all of them gives nothing up.
    EXPECT_EQ(in_child([&] {
                  chunk.reset();
                  piece.reset();
                  { auto const gone = std::move(producer); }
                  return 0;
              }),
              0);
    EXPECT_TRUE(producer.try_push(1));
    chunk->commit(1);
    EXPECT_TRUE(chunks.try_claim().has_value());
    EXPECT_FALSE(chunks.try_claim().has_value()) << "both are claimed: the child dropped none";
}

TEST_P(ForkTest, childMayForkAndEndAsItLikesBesideCalls) {
    Kernel kernel(device());
    std::jthread const caller([&](std::stop_token const& stop) {
        while (!stop.stop_requested()) {
            EXPECT_EQ(kernel.channel().call({7, 0}, patience).value, 22U);
        }
    });
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(
            in_child([&] {
                return in_child([&] { return all_fork_errors([&] { return kernel.state(); }); });
            }),
            0);
    }
}

TEST_P(ForkTest, servicesAndLogsAreTheParents) {
    auto service =
        std::make_unique<HostService<int, int>>(device(), [](int const& i) { return -i; });
    auto reader = std::make_unique<DeviceReader>(device());
    auto writer = std::make_unique<DeviceWriter>(device());
    Memory const memory = device().allocate(64);
    std::array<std::byte, 8> const bytes{};
    EXPECT_EQ(in_child([&] {
                  int const wrong = all_fork_errors(
                      [&] { service->flush(patience); }, [&] { return service->failures(); },
                      [&] { return reader->running(); },
                      [&] { return reader->read(memory, 0, 8, patience); },
                      [&] { return writer->running(); },
                      [&] { writer->write(memory, 0, bytes, patience); });
                  service.reset();
                  reader.reset();
                  writer.reset();
                  return wrong;
              }),
              0);
    service->flush(patience);
    EXPECT_EQ(reader->read(memory, 0, 8, patience).size(), 8U);
    writer->write(memory, 0, bytes, patience);
}

// The bytes are the program's own: the child has its copy of them, and lets go of nothing.
TEST_P(ForkTest, registeredMemoryStaysTheParents) {
    std::vector<std::byte> bytes(5000, std::byte{1});
    auto const owner = std::make_shared<int>();
    auto memory = std::make_optional(device().register_host(bytes, owner));
    EXPECT_EQ(in_child([&] {
                  int const wrong = all_fork_errors([&] { return memory->host_ptr(); },
                                                    [&] { return memory->export_fd().get(); });
                  memory.reset();
                  bytes[7] = std::byte{2};
                  return wrong + (owner.use_count() == 2 ? 0 : 1);
              }),
              0);
    EXPECT_EQ(bytes[7], std::byte{1});
    EXPECT_EQ(memory->host_ptr(), bytes.data());
    CARILLON_EXPECT_ERROR((void)device().register_host(bytes), UsageError, "registered already");
    memory.reset();
    EXPECT_EQ(owner.use_count(), 1);
}

// Even an address that the child kept does not lead it there.
TEST_P(ForkTest, addressThatTheChildKeptIsNoWayIntoTheParentsMemory) {
    if (std::string(GetParam()) == "emulated:vulkan") {
        GTEST_SKIP() << "its memory is Mesa's, which may share pages with other things";
    }
    Memory const memory = device().allocate(4096);
    auto* const word = static_cast<std::uint64_t volatile*>(memory.host_ptr());
    *word = 1;
    EXPECT_EQ(in_child([&] {
                  ::signal(SIGSEGV, SIG_DFL);  // not a sanitizer's
                  *word = 2;
                  return 0;
              }),
              killed_by + SIGSEGV);
    EXPECT_EQ(*word, 1U);
}

// The emulated device needs nothing of its parent.
TEST(EmulatedForkTest, childHasDevicesOfItsOwn) {
    if (CARILLON_THREAD_SANITIZER != 0) {
        GTEST_SKIP() << "the thread sanitizer does not follow a fork beside threads";
    }
    PersistentKernel<GatedHandler> kernel(Device::open("emulated"));
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(in_child([] {
                      PersistentKernel<GatedHandler> own(Device::open("emulated"));
                      bool const right = own.channel().call({7, 0}, patience).value == 22;
                      own.stop(patience);
                      return right ? 0 : 1;
                  }),
                  0);
    }
    EXPECT_EQ(kernel.channel().call({7, 0}, patience).value, 22U);
}

// Memory that the parent has registered is not registered with the child's device.
TEST(EmulatedForkTest, childRegistersItsCopyOfWhatItsParentHasRegistered) {
    Device const device = Device::open("emulated");
    std::vector<std::byte> bytes(5000);
    Memory const memory = device.register_host(bytes);
    EXPECT_EQ(in_child([&] {
                  Device const own = Device::open("emulated");
                  return own.register_host(bytes).host_ptr() == bytes.data() ? 0 : 1;
              }),
              0);
    CARILLON_EXPECT_ERROR((void)device.register_host(bytes), UsageError, "registered already");
}

// The ends that stand in for a kernel's, in C and in Python too.
TEST(EmulatedForkTest, endsThatStandInForAKernelsAreTheParents) {
    if (CARILLON_THREAD_SANITIZER != 0) {
        GTEST_SKIP() << "the thread sanitizer does not follow a fork beside threads";
    }
    Device const device = Device::open("emulated");
    std::array<std::byte, 4> bytes{};
    Ring<Bytes, Direction::to_device> to(device, bytes.size());
    Ring<Bytes, Direction::to_host> const back(device, bytes.size());
    Mailbox<Bytes, Direction::to_device> const limits(device, bytes);
    Mailbox<Bytes, Direction::to_host> const status(device, bytes);
    ChunkRing<Bytes> chunks(device, bytes.size(), {.chunk_bytes = 64, .chunks = 2});
    auto pops = to.device_handle();
    auto pushes = back.device_handle();
    auto refreshes = limits.device_handle();
    auto sets = status.device_handle();
    auto takes = chunks.device_handle();
    chunks.claim(patience).commit(1, bytes);
    auto const chunk = takes.try_take();
    ASSERT_TRUE(chunk.has_value());
    EXPECT_EQ(in_child([&] {
                  return all_fork_errors([&] { return pops.try_pop(bytes); },
                                         [&] { return pushes.try_push(bytes); },
                                         [&] { return refreshes.refresh(bytes); },
                                         [&] { sets.set(bytes); }, [&] { return takes.try_take(); },
                                         [&] { return takes.release(chunk->sequence); });
              }),
              0);
    EXPECT_TRUE(takes.release(chunk->sequence));
    EXPECT_TRUE(to.try_push(bytes));
    EXPECT_TRUE(pops.try_pop(bytes));
}

// A driver that the parent has opened belongs to the parent: the child is refused.
TEST(EmulatedForkTest, childOpensNoDriverThatItsParentHasOpened) {
    if (CARILLON_THREAD_SANITIZER != 0) {
        GTEST_SKIP() << "the thread sanitizer does not follow a fork beside threads";
    }
    try {
        (void)Device::open("emulated:vulkan");
    } catch (Error const& error) {
        GTEST_SKIP() << error.what();
    }
    EXPECT_EQ(in_child([] {
                  return all_fork_errors([] { return Device::open("emulated:vulkan").info(); });
              }),
              0);
}

TEST_P(ForkTest, childOpensNoGpuThatItsParentHasOpened) {
    if (!on_gpu()) GTEST_SKIP() << "for a GPU";
    EXPECT_EQ(in_child([] {
                  return all_fork_errors([] { return Device::open("cuda:0").info(); },
                                         [] { return Device::open("best").info(); });
              }),
              0);
}

}  // namespace
}  // namespace carillon::test
