// SPDX-License-Identifier: Apache-2.0
// Two devices in one process: nothing of one reaches the other.
#include <cstring>
#include <thread>
#include <tuple>

#include "device/device_fixture.hpp"
#include "device/refuses_seven.hpp"

namespace carillon::test {
namespace {

// Returns the number of its device, and how many requests it has answered.
struct Numbered {
    std::uint64_t device = 0;
    std::uint64_t served = 0;

    struct Reply {
        std::uint64_t device;
        std::uint64_t number;
        std::uint64_t served;
    };

    CARILLON_HD Reply operator()(std::uint64_t number) { return {device, number, ++served}; }
};
using NumberedKernel = PersistentKernel<Numbered>;

// The parameter names the first; the second is the other GPU, or another device of the same kind.
class TwoDevicesTest : public KernelTest {
   protected:
    void SetUp() override {
        KernelTest::SetUp();
        if (IsSkipped()) return;
        try {
            second_.emplace(Device::open(on_gpu() ? "cuda:1" : GetParam()));
        } catch (DeviceNotFoundError const& error) {
            GTEST_SKIP() << error.what();
        }
    }
    [[nodiscard]] Device const& second() const { return *second_; }

   private:
    std::optional<Device> second_;
};
CARILLON_ON_EVERY_DEVICE(TwoDevicesTest);

void call_many(NumberedKernel& kernel, std::uint64_t device, std::uint64_t calls) {
    for (std::uint64_t i = 1; i <= calls; ++i) {
        Numbered::Reply const reply = kernel.channel().call(i, patience);
        ASSERT_EQ(reply.device, device);
        ASSERT_EQ(reply.number, i);
        ASSERT_EQ(reply.served, i);
    }
}

TEST_P(TwoDevicesTest, eachIsItself) {
    if (!on_gpu()) GTEST_SKIP() << "emulated devices have no UUID";
    EXPECT_NE(device().info().uuid, second().info().uuid);
    EXPECT_NE(device().info().pci_bus_id, second().info().pci_bus_id);
    EXPECT_EQ(Device::open(second().info().uuid).info().pci_bus_id, second().info().pci_bus_id);
}

TEST_P(TwoDevicesTest, oneThreadCallsBothInTurn) {
    NumberedKernel one(device(), {}, Numbered{1});
    NumberedKernel two(second(), {}, Numbered{2});
    for (std::uint64_t i = 1; i <= 500; ++i) {
        Ticket const first = one.channel().submit(i, patience);
        Ticket const other = two.channel().submit(i, patience);
        Numbered::Reply const from_two = two.channel().wait(other, patience);
        Numbered::Reply const from_one = one.channel().wait(first, patience);
        ASSERT_EQ(std::tuple(from_one.device, from_one.number, from_one.served),
                  std::tuple(1U, i, i));
        ASSERT_EQ(std::tuple(from_two.device, from_two.number, from_two.served),
                  std::tuple(2U, i, i));
    }
}

TEST_P(TwoDevicesTest, twoThreadsCallOneEach) {
    NumberedKernel one(device(), {}, Numbered{1});
    NumberedKernel two(second(), {}, Numbered{2});
    std::jthread const other([&] { call_many(two, 2, 2000); });
    call_many(one, 1, 2000);
}

TEST_P(TwoDevicesTest, oneGoesOnWhenTheOtherStops) {
    NumberedKernel one(device(), {}, Numbered{1});
    {
        NumberedKernel two(second(), {}, Numbered{2});
        call_many(two, 2, 3);
        two.stop(patience);
        EXPECT_THROW((void)two.channel().call(1, patience), StoppedError);
    }
    call_many(one, 1, 3);
    // The second device's frees and allocations do not wait for the first device's kernel.
    { Memory const memory = second().allocate(std::size_t{1} << 16); }
    NumberedKernel again(second(), {}, Numbered{3});
    call_many(again, 3, 3);
}

TEST_P(TwoDevicesTest, oneGoesOnWhenAHandlerOfTheOtherFails) {
    if (on_gpu()) GTEST_SKIP() << "a fault ends this process's use of a GPU: see tests/faults";
    NumberedKernel one(device(), {}, Numbered{1});
    PersistentKernel<RefusesSeven> two(second());
    EXPECT_THROW((void)two.channel().call(7, patience), std::domain_error);
    call_many(one, 1, 10);
}

TEST_P(TwoDevicesTest, memoryIsTheOwnOfEach) {
    Memory const one = device().allocate(4096);
    Memory const two = second().allocate(4096);
    std::memset(one.host_ptr(), 1, 4096);
    one.flush(0, 4096);
    std::memset(two.host_ptr(), 2, 4096);
    two.flush(0, 4096);
    EXPECT_EQ(static_cast<unsigned char const*>(one.host_ptr())[4095], 1);
    EXPECT_EQ(static_cast<unsigned char const*>(two.host_ptr())[0], 2);
}

TEST_P(TwoDevicesTest, blocksOfOneLeaveRoomOnTheOther) {
    NumberedKernel many(device(), {.blocks = 8}, Numbered{1});
    NumberedKernel more(second(), {.blocks = 8}, Numbered{2});
    for (unsigned block = 0; block < 8; ++block) {
        EXPECT_EQ(many.channel(block).call(1, patience).device, 1U);
        EXPECT_EQ(more.channel(block).call(1, patience).device, 2U);
    }
}

// Catches a free that waits for a kernel since another opening of the same GPU has started it.
TEST_P(TwoDevicesTest, whoeverOpensOneGpuTwiceHasOneGpu) {
    if (!on_gpu()) GTEST_SKIP() << "each opening of the emulated device is one of its own";
    Device const again = Device::open(GetParam());
    Memory memory = again.allocate(std::size_t{1} << 16);
    NumberedKernel kernel(device(), {.lifetime = 20s}, Numbered{1});
    memory = Memory();
    call_many(kernel, 1, 3);
    EXPECT_TRUE(kernel.running());
}

}  // namespace
}  // namespace carillon::test
