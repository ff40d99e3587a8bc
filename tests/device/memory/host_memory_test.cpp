// SPDX-License-Identifier: Apache-2.0
// A GPU whose rings are in pinned host memory, because the program asks for it or because the
// GPU offers no other.
#include <cstdlib>
#include <numeric>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"

namespace carillon::test {
namespace {

class HostMemoryTest : public KernelTest {
   protected:
    void SetUp() override {
        KernelTest::SetUp();
        if (!IsSkipped() && !on_gpu()) GTEST_SKIP() << "the emulated device has one memory";
    }
};
INSTANTIATE_TEST_SUITE_P(On, HostMemoryTest, testing::Values("emulated", "cuda:0:host"),
                         device_name);

// Hides the Vulkan drivers from the loader, which looks for them at every opening of a device.
class WithoutVulkanDrivers {
   public:
    WithoutVulkanDrivers() {
        for (Variable& each : variables_) {
            if (char const* const value = std::getenv(each.name)) each.before = value;
            ::setenv(each.name, "/nonexistent/icd.json", 1);
        }
    }
    ~WithoutVulkanDrivers() {
        for (Variable const& each : variables_) {
            ::unsetenv(each.name);
            if (each.before) ::setenv(each.name, each.before->c_str(), 1);
        }
    }
    WithoutVulkanDrivers(WithoutVulkanDrivers const&) = delete;
    WithoutVulkanDrivers& operator=(WithoutVulkanDrivers const&) = delete;

   private:
    struct Variable {
        char const* name;
        std::optional<std::string> before;
    };
    // The first since 1.3.207 of the loader, the second before.
    Variable variables_[2] = {{"VK_DRIVER_FILES", {}}, {"VK_ICD_FILENAMES", {}}};
};

TEST_P(HostMemoryTest, infoSaysWhatItIsAndWhy) {
    DeviceInfo const& info = device().info();
    EXPECT_EQ(info.selector, "cuda:0:host");
    EXPECT_EQ(info.memory_source, MemorySource::host);
    EXPECT_EQ(info.why_host_memory, "it was requested");
    EXPECT_TRUE(info.coherent);
    EXPECT_EQ(info.data_order, DataOrder::fence);
    EXPECT_EQ(Device::open("cuda:0").info().why_host_memory, "");
}

// Runs in a process of its own, where no Vulkan driver has been loaded yet.
[[noreturn]] void open_without_vulkan() {
    WithoutVulkanDrivers const hidden;
    Device const found = Device::open("cuda:0");
    std::string const why = found.info().why_host_memory;
    bool right = found.info().memory_source == MemorySource::host;
    for (char const* way : {"Vulkan: ", "dma-buf: ", "gdrcopy: "}) {
        right = right && why.find(way) != std::string::npos;
    }
    try {
        (void)Device::open("cuda:0", {.memory = DeviceMemory::mapped});
        right = false;
    } catch (UnsupportedError const& error) {
        right = right && std::string(error.what()).find("Vulkan: ") != std::string::npos;
    }
    PersistentKernel<GatedHandler> kernel(found);
    right = right && kernel.channel().call({2, 0}, patience).value == 7;
    std::_Exit(right ? 0 : 1);
}

TEST_P(HostMemoryTest, aGpuWithoutVulkanTakesItAndSaysWhy) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(open_without_vulkan(), testing::ExitedWithCode(0), "in pinned host memory");
}

// Catches a driver that is loaded anew for every opening: NVIDIA's (580) gave out after some
// eighty.
TEST_P(HostMemoryTest, aGpuMayBeOpenedAHundredTimes) {
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(Device::open("cuda:0").info().why_host_memory, "") << "at opening " << i;
    }
}

TEST_P(HostMemoryTest, channelsOfManyBlocksAnswer) {
    auto const call_and_drain = [](auto kernel) {
        for (std::uint64_t i = 0; i < 3000; ++i) {
            auto& channel = kernel.channel(static_cast<unsigned>(i) % kernel.channels());
            ASSERT_EQ(channel.call({i, 0}, patience).value, 3 * i + 1);
        }
        kernel.drain(patience);
    };
    call_and_drain(PersistentKernel(device(), {.blocks = 3}, GatedHandler{}));
    call_and_drain(PersistentKernel<GatedHandler, WatchedChannels>(
        device(), {.blocks = 3, .watched = {.per_block = 8}}));
}

// Data outside a line, in the same memory: the handler sums the words that the request points at.
struct SumHandler {
    struct Request {
        std::uint32_t const* words;
        std::uint32_t count;
    };
    CARILLON_HD std::uint64_t operator()(Request const& request) const {
        std::uint64_t sum = 0;
        for (std::uint32_t i = 0; i < request.count; ++i) sum += request.words[i];
        return sum;
    }
};

TEST_P(HostMemoryTest, dataOutsideTheLineIsThereWithIt) {
    constexpr std::uint32_t count = 1000;
    Memory const memory = device().allocate(count * sizeof(std::uint32_t));
    auto* const words = static_cast<std::uint32_t*>(memory.host_ptr());
    PersistentKernel<SumHandler> kernel(device());
    for (std::uint32_t round = 0; round < 200; ++round) {
        std::iota(words, words + count, round);
        memory.flush(0, memory.size());
        Ticket const ticket =
            kernel.channel().submit({static_cast<std::uint32_t const*>(memory.device_ptr()), count},
                                    patience, OutOfLine::written);
        ASSERT_EQ(kernel.channel().wait(ticket, patience), 499'500U + std::uint64_t{1000} * round);
    }
}

TEST(DeviceMemoryTest, hostMemoryIsNotForcedToBeNonCoherent) {
    CARILLON_EXPECT_ERROR(
        Device::open("emulated", {.memory = DeviceMemory::host, .force_non_coherent = true}),
        UsageError, "host memory is always coherent");
}

}  // namespace
}  // namespace carillon::test
