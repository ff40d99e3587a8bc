// SPDX-License-Identifier: Apache-2.0
// A Vulkan driver that cannot list its extensions. This program has the loader's entry point, which
// returns the real functions except that one.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>

#include "carillon/device.hpp"
#include "carillon/error.hpp"
#include "support/expect_error.hpp"
#include "support/usable.hpp"

namespace {

using Function = void (*)();

void* real_loader = nullptr;

void* real_dlopen(char const* name, int mode) {
    auto* const real = reinterpret_cast<void* (*)(char const*, int)>(::dlsym(RTLD_NEXT, "dlopen"));
    return real(name, mode);
}

int out_of_host_memory(void* /*device*/, char const* /*layer*/, unsigned* /*count*/,
                       void* /*properties*/) {
    return -1;  // VK_ERROR_OUT_OF_HOST_MEMORY
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) Function vkGetInstanceProcAddr(void* instance,
                                                                      char const* name) {
    if (std::strcmp(name, "vkEnumerateDeviceExtensionProperties") == 0) {
        return reinterpret_cast<Function>(&out_of_host_memory);
    }
    static auto* const real = reinterpret_cast<Function (*)(void*, char const*)>(
        ::dlsym(real_loader, "vkGetInstanceProcAddr"));
    return real(instance, name);
}

__attribute__((visibility("default"))) void* dlopen(char const* name, int mode) noexcept {
    if (name == nullptr || std::strstr(name, "libvulkan.so") == nullptr) {
        return real_dlopen(name, mode);
    }
    real_loader = real_dlopen(name, mode);
    return real_loader == nullptr ? nullptr : real_dlopen(nullptr, mode);
}
}

namespace carillon::test {
namespace {

// An error of another type would end the search for a way to map memory.
TEST(FailingVulkanTest, driverThatListsNoExtensionsIsAVulkanErrorThatNamesTheCall) {
    try {
        (void)Device::open("emulated:vulkan");
        FAIL() << "nothing was thrown";
    } catch (UnsupportedError const& error) {
        GTEST_SKIP() << error.what();  // no loader, or no driver that runs on the CPU
    } catch (VulkanError const& error) {
        EXPECT_EQ(error.call(), "Device::open");
        EXPECT_TRUE(error.cause().starts_with("vkEnumerateDeviceExtensionProperties"))
            << error.what();
        EXPECT_EQ(error.code_name(), "ErrorOutOfHostMemory");
    } catch (std::exception const& error) {
        FAIL() << "something else was thrown: " << error.what();
    }
    expect_usable(Device::open("emulated"));
}

}  // namespace
}  // namespace carillon::test
