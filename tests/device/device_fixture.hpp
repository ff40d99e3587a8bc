// SPDX-License-Identifier: Apache-2.0
// The same tests on every device. A fixture opens the device that the parameter names, or skips
// with the reason why it is not here.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <chrono>
#include <optional>
#include <string>

#include "carillon/carillon.hpp"
#include "support/eventually.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {

using namespace std::chrono_literals;

inline constexpr char const* tested_devices[] = {"emulated", "emulated:vulkan", "cuda:0"};

// A fixture on any device, for tests that need no kernel.
class DeviceTest : public testing::TestWithParam<char const*> {
   protected:
    void SetUp() override { open({}); }

    void open(DeviceOptions const& options) {
        try {
            device_ = Device::open(GetParam(), options);
        } catch (DeviceNotFoundError const& error) {
            GTEST_SKIP() << error.what();
        } catch (UnsupportedError const& error) {
            if (on_gpu()) throw;  // a GPU that cannot be used is a failure
            GTEST_SKIP() << error.what();
        }
    }

    [[nodiscard]] static bool on_gpu() {
        return std::string(GetParam()).find("cuda") != std::string::npos;
    }
    [[nodiscard]] Device const& device() const { return *device_; }

   private:
    std::optional<Device> device_;
};

// A device that kernels of this program can run on.
class KernelTest : public DeviceTest {
   protected:
    void SetUp() override {
        DeviceTest::SetUp();
        if (!IsSkipped() && on_gpu() && CARILLON_DEVICE_CODE == 0) {
            GTEST_SKIP() << "these tests were compiled without nvcc";
        }
    }
};

// A selector as GoogleTest accepts it in a name: "cuda0".
inline std::string in_test_name(std::string selector) {
    std::erase_if(selector, [](unsigned char c) { return std::isalnum(c) == 0; });
    return selector;
}
inline std::string device_name(testing::TestParamInfo<char const*> const& info) {
    return in_test_name(info.param);
}

}  // namespace carillon::test

#define CARILLON_ON_EVERY_DEVICE(Fixture)                                                      \
    INSTANTIATE_TEST_SUITE_P(On, Fixture, testing::ValuesIn(::carillon::test::tested_devices), \
                             ::carillon::test::device_name)

// Instantiates the fixture also on a GPU whose rings are in host memory.
#define CARILLON_ON_HOST_MEMORY(Fixture)                                            \
    INSTANTIATE_TEST_SUITE_P(InHostMemory, Fixture, testing::Values("cuda:0:host"), \
                             ::carillon::test::device_name)
