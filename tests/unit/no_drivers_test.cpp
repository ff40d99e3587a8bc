// SPDX-License-Identifier: Apache-2.0
// A machine without the CUDA driver and without the Vulkan loader: this program's own dlopen does
// not find them.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "carillon/device.hpp"
#include "carillon/error.hpp"
#include "support/captured_stderr.hpp"
#include "support/expect_error.hpp"
#include "support/usable.hpp"

extern "C" __attribute__((visibility("default"))) void* dlopen(char const* name,
                                                               int mode) noexcept {
    if (name != nullptr && (std::strstr(name, "libvulkan") || std::strstr(name, "libcuda"))) {
        return nullptr;
    }
    auto* const real = reinterpret_cast<void* (*)(char const*, int)>(::dlsym(RTLD_NEXT, "dlopen"));
    return real(name, mode);
}

namespace carillon::test {
namespace {

// The value that an object with static storage finds, which may open a device.
std::string const loading_at_start = [] {
    char const* const value = std::getenv("CUDA_MODULE_LOADING");
    return std::string(value == nullptr ? "" : value);
}();

bool built_with_cuda() {
    try {
        (void)Device::open("cuda:0");
    } catch (DeviceNotFoundError const& error) {
        return std::string(error.what()).find("this build") == std::string::npos;
    }
    return true;
}

TEST(NoVulkanLoaderTest, emulatedVulkanIsUnsupportedAndTheRestWorks) {
    CARILLON_EXPECT_ERROR(Device::open("emulated:vulkan"), UnsupportedError,
                          "dlopen(libvulkan.so.1): the Vulkan loader is not installed");
    expect_usable(Device::open("emulated"));
}

TEST(NoCudaDriverTest, gpuIsNotFoundAndTheTextNamesTheLibrary) {
    if (!built_with_cuda()) GTEST_SKIP() << "this build has no CUDA support";
    for (char const* selector : {"cuda", "cuda:0", "0", "cuda:99", "current",
                                 "GPU-00000000-0000-0000-0000-000000000000"}) {
        SCOPED_TRACE(selector);
        CARILLON_EXPECT_ERROR(Device::open(selector), DeviceNotFoundError,
                              "dlopen(libcuda.so.1): no CUDA driver is installed");
    }
    expect_usable(Device::open("emulated"));
}

// A later setting, beside other threads, could move the environment while one of them reads it.
TEST(NoCudaDriverTest, eagerLoadingIsAskedForBeforeMain) {
    if (!built_with_cuda()) GTEST_SKIP() << "this build has no CUDA support";
    EXPECT_NE(loading_at_start, "");
}

TEST(NoCudaDriverTest, buildWithoutCudaSaysSo) {
    if (built_with_cuda()) GTEST_SKIP() << "this build has CUDA support";
    CARILLON_EXPECT_ERROR(Device::open("cuda:0"), DeviceNotFoundError,
                          "this build of Carillon has no CUDA support: ");
}

TEST(NoDriversTest, bestIsTheEmulatedDeviceAndSaysWhy) {
    Device const device = Device::open("best");
    EXPECT_TRUE(device.emulated());
    EXPECT_EQ(device.info().selector, "emulated");
    EXPECT_NE(device.info().why_emulated.find("CUDA"), std::string::npos);
    expect_usable(device);
}

// Runs in a process of its own, in which nothing was printed yet. Exits with 0 when one line was.
[[noreturn]] void open_what_is_emulated() {
    testing::internal::CaptureStderr();
    (void)Device::open("emulated");
    std::string const before = captured_stderr();
    testing::internal::CaptureStderr();
    (void)Device::open();
    std::string const first = captured_stderr();
    testing::internal::CaptureStderr();
    (void)Device::open();
    std::string const second = captured_stderr();
    bool const told = first.starts_with("carillon: no usable GPU (");
    std::_Exit(before.empty() && told && first.ends_with("silence this\n") && second.empty() ? 0
                                                                                             : 1);
}

TEST(NoDriversTest, whoDidNotAskForTheEmulatedDeviceIsToldOnce) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(open_what_is_emulated(), testing::ExitedWithCode(0), "");
}

TEST(NoDriversTest, listSaysWhyADeviceIsNotAvailable) {
    std::vector<DeviceInfo> const all = Device::list();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_NE(all.at(1).name.find("not available (dlopen(libvulkan.so.1)"), std::string::npos)
        << all.at(1).name;
}

}  // namespace
}  // namespace carillon::test
