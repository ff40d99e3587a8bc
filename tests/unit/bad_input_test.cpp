// SPDX-License-Identifier: Apache-2.0
// Bad input: each its own typed error with the failing call in it, and everything else goes on.
// tests/compile has the input that the compiler refuses, tests/examples a bad .dbn file.
#include <gtest/gtest.h>

#include <cstdlib>

#include "carillon/carillon.hpp"
#include "carillon/detail/host/argument_checks.hpp"
#include "support/expect_error.hpp"
#include "support/store_kinds.hpp"
#include "support/usable.hpp"

namespace carillon::test {
using namespace detail;
namespace {

using namespace std::chrono_literals;

// Why there is no GPU here; empty where there is one.
std::string why_no_gpu() { return Device::open("best").info().why_emulated; }

class NoGpuTest : public testing::Test {
   protected:
    void SetUp() override {
        if (why_no_gpu().empty()) GTEST_SKIP() << "this machine has a GPU";
    }
};

TEST_F(NoGpuTest, bestIsTheEmulatedDeviceAndSaysWhy) {
    Device const device = Device::open();
    EXPECT_TRUE(device.emulated());
    EXPECT_NE(device.info().why_emulated.find(": "), std::string::npos);
    expect_usable(device);
}

TEST_F(NoGpuTest, everyWayToNameAGpuIsDeviceNotFound) {
    for (char const* selector : {"cuda", "cuda:0", "0", "cuda:7", "current", "cuda:-1",
                                 "GPU-00000000-0000-0000-0000-000000000000"}) {
        SCOPED_TRACE(selector);
        CARILLON_EXPECT_ERROR(Device::open(selector), DeviceNotFoundError, ": ");
    }
    expect_usable(Device::open("emulated"));
}

TEST_F(NoGpuTest, listHasTheEmulatedDevicesOnly) {
    std::vector<DeviceInfo> const all = Device::list();
    ASSERT_GE(all.size(), 2U);
    EXPECT_EQ(all.at(0).selector, "emulated");
    EXPECT_EQ(all.at(1).selector, "emulated:vulkan");
    for (DeviceInfo const& each : all) {
        EXPECT_TRUE(each.emulated) << each.selector;
        EXPECT_FALSE(Device::names_gpu(each.selector)) << each.selector;
        EXPECT_NE(Device::selectors().find(each.selector), std::string::npos) << each.selector;
    }
}

TEST(GpuTest, ordinalOutOfRangeSaysHowManyThereAre) {
    if (!why_no_gpu().empty()) GTEST_SKIP() << why_no_gpu();
    CARILLON_EXPECT_ERROR(Device::open("cuda:4711"), DeviceNotFoundError, "there is no GPU 4711");
    CARILLON_EXPECT_ERROR(Device::open("cuda:-1"), DeviceNotFoundError, "there is no GPU -1");
    CARILLON_EXPECT_ERROR(
        Device::open("cuda:0:host", {.memory = DeviceMemory::mapped}), UsageError,
        "Device::open: cuda:0:host asks for host memory, but the option memory is mapped");
    CARILLON_EXPECT_ERROR(Device::open("GPU-00000000-0000-0000-0000-000000000000"),
                          DeviceNotFoundError, "no GPU has the UUID");
    EXPECT_FALSE(Device::open("cuda:0").emulated());
}

TEST(GpuTest, kernelFromATranslationUnitWithoutDeviceCodeIsAUsageError) {
    if (!why_no_gpu().empty()) GTEST_SKIP() << why_no_gpu();
    Device const device = Device::open("cuda:0");
    CARILLON_EXPECT_ERROR(PersistentKernel<Triple>(device), UsageError, "nvcc");
    EXPECT_NE(device.allocate(4096).host_ptr(), nullptr);
}

TEST(SelectorTest, nonsenseIsAUsageErrorThatNamesWhatThereIs) {
    for (char const* selector :
         {"", "gpu", "cuda:", "cuda:x", "cuda:0x", "cuda:1.5", "1 ", "emulated:", "emulated:memfd",
          "emulated:host", "cuda::host", "cuda:0:hos", "0:host", "Emulated", "vulkan",
          "99999999999999999999"}) {
        SCOPED_TRACE(selector);
        CARILLON_EXPECT_ERROR(Device::open(selector), UsageError, "emulated:vulkan");
    }
    expect_usable(Device::open("emulated"));
}

// std::getenv may give a null pointer.
TEST(SelectorTest, nullPointerIsAUsageError) {
    char const* const none = nullptr;
    CARILLON_EXPECT_ERROR(Device::open(none), UsageError,
                          "Device::open: the selector is a null pointer: use one of ");
    EXPECT_EQ(wait_style(none), std::nullopt);
}

// names_gpu() reads a selector as open() does; open() takes nonsense for a GPU's selector, and
// refuses it.
TEST(SelectorTest, allButThoseOfOtherDevicesNameGpus) {
    for (char const* selector :
         {"best", "cuda", "cuda:0", "0", "current", "GPU-0", "cuda:1:host"}) {
        EXPECT_TRUE(Device::names_gpu(selector)) << selector;
    }
    EXPECT_FALSE(Device::names_gpu("emulated"));
    EXPECT_FALSE(Device::names_gpu("emulated:vulkan"));
}

class EmulatedTest : public testing::Test {
   protected:
    void TearDown() override { expect_usable(device_); }
    Device device_ = Device::open("emulated");
};

TEST_F(EmulatedTest, coherentAndNonCoherentAtOnceIsAUsageError) {
    DeviceOptions const both{.require_coherent = true, .force_non_coherent = true};
    CARILLON_EXPECT_ERROR(Device::open("emulated", both), UsageError, "exclude each other");
}

TEST_F(EmulatedTest, memfdCannotBeNonCoherent) {
    DeviceOptions const options{.force_non_coherent = true};
    CARILLON_EXPECT_ERROR(Device::open("emulated", options), UnsupportedError, "memfd");
    EXPECT_TRUE(Device::open("emulated", {.require_coherent = true}).info().coherent);
}

TEST_F(EmulatedTest, capacityThatIsNoPowerOfTwoIsAUsageError) {
    using Numbers = Ring<int, Direction::to_device>;
    for (std::uint32_t capacity : {0U, 1U, 3U, 100U, 255U, 1U << 21, 1U << 24, 0xffffffffU}) {
        SCOPED_TRACE(capacity);
        CARILLON_EXPECT_ERROR(Numbers(device_, {.capacity = capacity}), UsageError,
                              "a capacity of " + std::to_string(capacity) + " is not");
        CARILLON_EXPECT_ERROR((Channel<int, int>(device_, capacity)), UsageError, "capacity");
        CARILLON_EXPECT_ERROR(PersistentKernel<Triple>(device_, {.capacity = capacity}), UsageError,
                              "capacity");
        CARILLON_EXPECT_ERROR(detail::check_capacity(capacity), UsageError, "capacity");
    }
}

TEST_F(EmulatedTest, everyPowerOfTwoFrom2IsACapacity) {
    for (std::uint32_t capacity = 2; capacity <= 1U << 20; capacity *= 2) {
        EXPECT_NO_THROW(detail::check_capacity(capacity)) << capacity;
    }
}

TEST_F(EmulatedTest, noChannelsAndNoBlocksAreUsageErrors) {
    CARILLON_EXPECT_ERROR(ChannelMemory(device_, 0, 4), UsageError, "0 channels requested");
    CARILLON_EXPECT_ERROR(PersistentKernel<Triple>(device_, {.blocks = 0}), UsageError,
                          "at least one");
    auto const memory = std::make_shared<ChannelMemory>(device_, 2, 4);
    CARILLON_EXPECT_ERROR(PersistentKernel<Triple>(device_, {.blocks = 0, .memory = memory}),
                          UsageError, "at least one block");
    CARILLON_EXPECT_ERROR(PersistentKernel<Triple>(device_, {.blocks = 3, .memory = memory}),
                          UsageError, "the kernel needs 3 channels, but the memory has 2");
}

template <class Requests>
void expect_another_kernels(Device const& device, KernelOptions const& options, char const* name) {
    using Kernel = PersistentKernel<Triple, Requests>;
    CARILLON_EXPECT_ERROR(Kernel(device, options), UsageError,
                          std::string("PersistentKernel: KernelOptions::") + name + ' ');
}

TEST_F(EmulatedTest, optionsForAnotherKernelAreUsageErrorsThatNameThem) {
    KernelOptions const channels{.channels = {.express = true}};
    KernelOptions const watched{.watched = {.per_block = 3}};
    KernelOptions const pool{.pool = {.replies = 2}};
    KernelOptions const shared_pool{.shared_pool = {.clients = 2}};
    KernelOptions const memory{.memory = std::make_shared<ChannelMemory>(device_, 2, 256)};
    expect_another_kernels<WatchedChannels>(device_, channels, "channels");
    expect_another_kernels<SharedChannels>(device_, channels, "channels");
    expect_another_kernels<Channels>(device_, watched, "watched");
    expect_another_kernels<Channels>(device_, pool, "pool");
    expect_another_kernels<SharedPool>(device_, pool, "pool");
    expect_another_kernels<Pool>(device_, shared_pool, "shared_pool");
    expect_another_kernels<Pool>(device_, memory, "memory");
    expect_another_kernels<SharedPool>(device_, memory, "memory");
    auto const answer = [](void*, void const*, void*) {};
    CARILLON_EXPECT_ERROR(BytesKernel(device_, {4}, {4}, answer, nullptr, pool), UsageError,
                          "BytesKernel: KernelOptions::pool is for ");
}

TEST_F(EmulatedTest, storesThatThisCpuLacksAreUnsupported) {
    bool all = true;
    for (StoreKind const kind : all_store_kinds()) {
        if (supported(kind)) continue;
        all = false;
        CARILLON_EXPECT_ERROR(device_.set_stores({kind, PublishMode::one_step}), UnsupportedError,
                              to_string(kind));
        EXPECT_EQ(device_.stores().kind, StoreKind::cached);
    }
    if (all) GTEST_SKIP() << "this CPU has every kind of store";
}

TEST_F(EmulatedTest, deadlineThatPassesIsATimeoutErrorThatNamesTheCall) {
    Channel<int, int> nobody_serves(device_, 2);
    CARILLON_EXPECT_ERROR(nobody_serves.call(1, 1ms), TimeoutError, "Client::call: no reply");
    CARILLON_EXPECT_ERROR(nobody_serves.call(1, 0ns), TimeoutError, "Client::call: no reply");
    CARILLON_EXPECT_ERROR(nobody_serves.call(1, 1ms), TimeoutError,
                          "Client::call: no slot became free");
    Ring<int, Direction::to_host> empty(device_);
    CARILLON_EXPECT_ERROR(empty.pop(1ms), TimeoutError, "Ring::pop: ");
    Ring<int, Direction::to_device> full(device_, {.capacity = 2});
    for (int i = 0; i < 2; ++i) full.push(i, patience);
    CARILLON_EXPECT_ERROR(full.push(2, 1ms), TimeoutError, "Ring::push: ");
}

TEST_F(EmulatedTest, callAfterStopIsAStoppedError) {
    PersistentKernel<Triple> kernel(device_);
    kernel.stop(patience);
    CARILLON_EXPECT_ERROR(kernel.channel().call(1, 1s), StoppedError, "the kernel was stopped");
    CARILLON_EXPECT_ERROR(kernel.channel().submit(1, 1s), StoppedError, "Client::submit: the");
}

TEST_F(EmulatedTest, channelThatIsNotThereIsAUsageError) {
    PersistentKernel<Triple> kernel(device_);
    CARILLON_EXPECT_ERROR(kernel.channel(1), UsageError, "there is no channel 1");
    EXPECT_EQ(kernel.channel(0).call(2, patience), 6);
}

TEST_F(EmulatedTest, emptyMemoryHasNoDescriptor) {
    Memory const empty;
    EXPECT_EQ(empty.host_ptr(), nullptr);
    EXPECT_EQ(empty.device_ptr(), nullptr);
    EXPECT_EQ(empty.size(), 0U);
    CARILLON_EXPECT_ERROR(empty.export_fd(), UsageError, "Memory::export_fd: ");
    CARILLON_EXPECT_ERROR(empty.flush(0, 1), UsageError, "Memory::flush: ");
}

}  // namespace
}  // namespace carillon::test
