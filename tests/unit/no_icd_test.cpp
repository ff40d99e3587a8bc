// SPDX-License-Identifier: Apache-2.0
// A machine with the Vulkan loader and without any driver (ICD) for it.
#include <gtest/gtest.h>

#include <cstdlib>

#include "carillon/device.hpp"
#include "carillon/error.hpp"
#include "support/expect_error.hpp"
#include "support/usable.hpp"

namespace carillon::test {
namespace {

class NoIcdTest : public testing::Test {
   protected:
    static void SetUpTestSuite() {
        for (char const* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"}) {
            ASSERT_EQ(::setenv(name, "/nonexistent/icd.json", 1), 0);
        }
    }
};

TEST_F(NoIcdTest, emulatedVulkanIsUnsupportedAndTheRestWorks) {
    try {
        (void)Device::open("emulated:vulkan");
        FAIL() << "nothing was thrown";
    } catch (UnsupportedError const& error) {
        if (error.call() == "dlopen(libvulkan.so.1)") GTEST_SKIP() << error.what();
        EXPECT_NE(std::string(error.what()).find("no Vulkan driver (ICD)"), std::string::npos)
            << error.what();
    } catch (Error const& error) {
        FAIL() << "something else was thrown: " << error.what();
    }
    expect_usable(Device::open("emulated"));
}

}  // namespace
}  // namespace carillon::test
