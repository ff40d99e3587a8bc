// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "device/device_fixture.hpp"

namespace carillon::test {
using namespace detail;
namespace {

class OpenTest : public DeviceTest {};
CARILLON_ON_EVERY_DEVICE(OpenTest);

TEST_P(OpenTest, selectorInTheInfoOpensTheSameDeviceAgain) {
    EXPECT_EQ(device().info().selector, GetParam());
    Device const again = Device::open(device().info().selector);
    EXPECT_EQ(again.info().name, device().info().name);
    EXPECT_EQ(again.info().uuid, device().info().uuid);
}

TEST_P(OpenTest, onlyAGpuIsNotEmulated) {
    EXPECT_EQ(device().emulated(), !on_gpu());
    EXPECT_EQ(device().info().name.find("emulated") != std::string::npos, !on_gpu());
}

// unit/device_traits_test.cpp tests the traits of emulated devices.
TEST_P(OpenTest, traitsOfAGpuAreAGpus) {
    DeviceTraits const& traits = device().traits();
    EXPECT_EQ(traits.cuda, on_gpu());
    EXPECT_EQ(device().info().sm_count.has_value(), on_gpu());
    if (!on_gpu()) return;
    EXPECT_FALSE(traits.shares_processors);
    EXPECT_FALSE(traits.one_thread_a_block);
    EXPECT_TRUE(traits.loads_whole_quads);
    EXPECT_FALSE(traits.kernels_end_with_process);
    EXPECT_EQ(traits.write_combining, device().info().memory_source != MemorySource::host);
}

TEST_P(OpenTest, listHasTheDevice) {
    std::vector<DeviceInfo> const all = Device::list();
    EXPECT_EQ(std::count_if(all.begin(), all.end(),
                            [](DeviceInfo const& info) { return info.selector == GetParam(); }),
              1);
}

TEST_P(OpenTest, gpuOpensByItsUuid) {
    if (!on_gpu()) GTEST_SKIP() << "the emulated device has no UUID";
    EXPECT_EQ(Device::open(device().info().uuid).info().selector, device().info().selector);
}

TEST_P(OpenTest, copiesShareTheDevice) {
    Device const copy = device();
    EXPECT_EQ(&copy.info(), &device().info());
}

TEST_P(OpenTest, vulkanMemoryIsDescribed) {
    DeviceInfo const& info = device().info();
    if (info.memory_source != MemorySource::vulkan) GTEST_SKIP() << "this memory is not Vulkan's";
    ASSERT_GE(info.memory_type, 0);
    auto const& type = info.memory_types.at(static_cast<std::size_t>(info.memory_type));
    auto const has = [&](char const* name) {
        return std::count(type.properties.begin(), type.properties.end(), name) == 1;
    };
    EXPECT_TRUE(has("DeviceLocal"));
    EXPECT_TRUE(has("HostVisible"));
    HeapInfo const& heap = info.heaps.at(type.heap);
    EXPECT_GT(heap.size, 0U);
    EXPECT_TRUE(heap.host_visible);
    EXPECT_FALSE(info.vulkan_driver.empty());
    EXPECT_EQ(info.vulkan_api.substr(0, 2), "1.");
}

TEST_P(OpenTest, coherentMemoryCanBeInsistedOn) {
    Device const coherent = Device::open(GetParam(), {.require_coherent = true});
    EXPECT_TRUE(coherent.info().coherent);
    EXPECT_TRUE(coherent.allocate(64).coherent());
}

TEST_P(OpenTest, chosenStoresAreTheDevicesFromThenOn) {
    Device const own = Device::open(GetParam());
    own.set_stores({StoreKind::sse2, PublishMode::two_step});
    EXPECT_EQ(own.stores().kind, StoreKind::sse2);
    EXPECT_EQ(own.info().store_instruction, "sse2");
    EXPECT_EQ(own.info().publish_mode, "two-step");
    EXPECT_NE(device().stores().mode == PublishMode::two_step && device().emulated(), true);
}

TEST_P(OpenTest, defaultStoresSuitTheMemory) {
    HostStores const wanted = on_gpu() ? best_mapped_stores() : HostStores{};
    EXPECT_EQ(device().stores().kind, wanted.kind);
    EXPECT_EQ(device().stores().mode, wanted.mode);
}

}  // namespace
}  // namespace carillon::test
