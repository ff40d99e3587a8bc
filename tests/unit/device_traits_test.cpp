// SPDX-License-Identifier: Apache-2.0
// The differences between devices, and the decisions that depend on them.
#include "carillon/device_info.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "carillon/detail/host/kernel_supervisor.hpp"
#include "carillon/device.hpp"
#include "device/backend.hpp"

namespace carillon::test {
using namespace detail;
namespace {

using namespace std::chrono_literals;

// The backend of a device that has only traits.
class TraitsBackend final : public detail::Backend {
   public:
    explicit TraitsBackend(DeviceTraits const& traits)
        : Backend(std::make_shared<detail::Residents>(), traits) {
        set_own_stores();
    }
    std::unique_ptr<detail::Allocation> allocate(std::size_t /*size*/) override { return {}; }
    std::unique_ptr<detail::Allocation> allocate_host(std::size_t /*size*/) override { return {}; }
    std::unique_ptr<detail::Allocation> allocate_shared_host(std::size_t /*size*/) override {
        return {};
    }
    std::unique_ptr<detail::Allocation> register_host(
        std::span<std::byte> /*bytes*/, std::shared_ptr<void const> /*owner*/) override {
        return {};
    }
    std::unique_ptr<detail::Execution> start(detail::Program const& /*program*/,
                                             unsigned /*blocks*/) override {
        return {};
    }
};

TEST(DeviceTraitsTest, emulatedDeviceIsThreadsOfThisProcess) {
    for (char const* const selector : {"emulated", "emulated:vulkan"}) {
        try {
            DeviceTraits const traits = Device::open(selector).traits();
            EXPECT_FALSE(traits.cuda);
            EXPECT_TRUE(traits.shares_processors);
            EXPECT_TRUE(traits.one_thread_a_block);
            EXPECT_FALSE(traits.loads_whole_quads);
            EXPECT_TRUE(traits.kernels_end_with_process);
            EXPECT_FALSE(traits.write_combining);
        } catch (UnsupportedError const& error) {
            GTEST_SKIP() << error.what();  // no lavapipe
        }
    }
}

// A backend that says nothing about itself has a GPU's traits, which are the careful ones.
TEST(DeviceTraitsTest, initialValuesAreAGpus) {
    DeviceTraits const traits;
    EXPECT_TRUE(traits.cuda);
    EXPECT_FALSE(traits.shares_processors);
    EXPECT_FALSE(traits.one_thread_a_block);
    EXPECT_TRUE(traits.loads_whole_quads);
    EXPECT_FALSE(traits.kernels_end_with_process);
    EXPECT_TRUE(traits.write_combining);
}

TEST(DeviceTraitsTest, storesAreThoseThatTheMemoryWants) {
    TraitsBackend const combining({.write_combining = true});
    HostStores const best = best_mapped_stores();
    EXPECT_EQ(combining.stores().kind, best.kind);
    EXPECT_EQ(combining.stores().mode, best.mode);
    EXPECT_EQ(combining.stores().bulk, best.bulk);
    EXPECT_EQ(combining.info().store_instruction, to_string(best.kind));
    EXPECT_EQ(combining.info().publish_mode, to_string(best.mode));
    TraitsBackend const cached({.write_combining = false});
    EXPECT_EQ(cached.stores().kind, StoreKind::cached);
    EXPECT_EQ(cached.info().store_instruction, "cached");
    EXPECT_EQ(cached.info().publish_mode, "one-step");
}

TEST(DeviceTraitsTest, kernelsThatOutliveTheirHostListenForIt) {
    DeviceTraits const outliving{.kernels_end_with_process = false};
    DeviceTraits const ending{.kernels_end_with_process = true};
    EXPECT_EQ(detail::host_silence_limit({}, outliving), 1s);
    EXPECT_EQ(detail::host_silence_limit({}, ending), 0s);
    EXPECT_EQ(detail::host_silence_limit({.host_limit = 20ms}, outliving), 20ms);
    EXPECT_EQ(detail::host_silence_limit({.host_limit = 20ms}, ending), 20ms);
}

TEST(DeviceTraitsTest, blocksThatShareProcessorsMayBeTooMany) {
    Device const device = Device::open("emulated");
    unsigned const processors = detail::cpu::available_processors();
    EXPECT_TRUE(device.oversubscribed(processors));
    EXPECT_FALSE(device.oversubscribed(processors - 1));
}

}  // namespace
}  // namespace carillon::test
