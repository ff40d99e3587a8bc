// SPDX-License-Identifier: Apache-2.0
// Device memory that is treated as non-coherent: every publish goes through the driver's flush.
#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "device/gate.hpp"
#include "support/ring_memory.hpp"

namespace carillon::test {

using NumbersIn = Ring<Message, Direction::to_device>;
using NumbersOut = Ring<Message, Direction::to_host>;

namespace {

class NonCoherentDeviceTest : public KernelTest {
   protected:
    void SetUp() override {
        if (GetParam() == std::string("emulated")) {
            GTEST_SKIP() << "memfd memory cannot be non-coherent (bad_input_test tests that)";
        }
        KernelTest::SetUp();
        if (!IsSkipped()) open({.force_non_coherent = true});
    }
};
CARILLON_ON_EVERY_DEVICE(NonCoherentDeviceTest);

TEST_P(NonCoherentDeviceTest, memoryAndInfoSaySo) {
    EXPECT_FALSE(device().info().coherent);
    Memory const memory = device().allocate(1000);
    EXPECT_FALSE(memory.coherent());
    EXPECT_NE(memory.range_sync(), nullptr);
    EXPECT_EQ(memory.atom_size(), device().info().atom_size);
    EXPECT_TRUE(device().allocate_host(64).coherent());
}

// Catches a read back that a cache may answer.
TEST_P(NonCoherentDeviceTest, deviceThatWouldHaveToBeReadBackIsRefused) {
    DeviceOptions const both{.force_non_coherent = true, .force_read_back = true};
    CARILLON_EXPECT_ERROR(Device::open(GetParam(), both), UnsupportedError, "not coherent");
}

// Catches a range that is not widened to whole atoms, or is widened past the end.
TEST_P(NonCoherentDeviceTest, anyRangeCanBeFlushedAndInvalidated) {
    Memory const memory = device().allocate(1000);
    for (std::size_t offset : {0U, 1U, 63U, 64U, 500U, 999U}) {
        for (std::size_t size : {0U, 1U, 64U, 1000U}) {
            if (offset + size > memory.size()) continue;
            EXPECT_NO_THROW(memory.flush(offset, size)) << offset << " " << size;
            EXPECT_NO_THROW(memory.invalidate(offset, size)) << offset << " " << size;
        }
    }
}

TEST_P(NonCoherentDeviceTest, ringsWorkThroughTheWrapOfTheTags) {
    RingOptions const options{.capacity = 4, .for_tests = {.first = just_below_the_tags_wrap}};
    NumbersIn in(device(), options);
    NumbersOut out(device(), options);
    auto const kernel = launch(device(), 1, EchoBody{in.device_handle(), out.device_handle(), 100});
    for (std::uint64_t i = 1; i <= 100; ++i) {
        in.push(Message::make(i), patience);
        Message const message = out.pop(patience);
        ASSERT_EQ(message.number, i);
        ASSERT_TRUE(message.whole());
    }
    EXPECT_TRUE(kernel.wait(patience));
}

TEST_P(NonCoherentDeviceTest, kernelAnswersAndStops) {
    Gate gate(device());
    PersistentKernel<GatedHandler> kernel(device(), {.blocks = 2, .capacity = 4},
                                          GatedHandler{gate.device_view()});
    for (std::uint64_t i = 0; i < 100; ++i) {
        ASSERT_EQ(kernel.channel(i % 2).call({i, 0}, patience).value, 3 * i + 1);
    }
    EXPECT_THROW((void)kernel.channel().call({1, 1}, 1ms), TimeoutError);
    gate.open(1);
    EXPECT_EQ(kernel.channel().call({2, 0}, patience).value, 7U);
    kernel.stop(patience);
    EXPECT_FALSE(kernel.running());
}

}  // namespace
}  // namespace carillon::test
