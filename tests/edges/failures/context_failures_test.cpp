// SPDX-License-Identifier: Apache-2.0
// A CUDA context that is destroyed while the library has something in it. The stand-in for the
// driver ends the process where CUDA may crash.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "carillon/carillon.hpp"
#include "edges/failures/cuda_stand_in.hpp"
#include "edges/failures/vulkan_stand_in.hpp"
#include "support/in_child.hpp"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;

struct Thrice {
    CARILLON_HD int operator()(int const& value) const { return 3 * value; }
};

class ContextFailureTest : public testing::Test {
   protected:
    void SetUp() override {
        load_vulkan_stand_in();
        load_cuda_stand_in();
    }
};

bool says_destroyed(std::function<void()> const& call) {
    try {
        call();
    } catch (CudaError const& error) {
        return std::string(error.what()).find("has been destroyed or reset") != std::string::npos;
    }
    return false;
}

TEST_F(ContextFailureTest, everyUseOfADestroyedContextIsATypedError) {
    EXPECT_EQ(in_child([] {
                  Device const device = Device::open("current");
                  Memory const memory = device.allocate(4096);
                  std::byte own[64]{};
                  destroy_stand_in_context();
                  bool const each =
                      says_destroyed([&] { (void)device.allocate(4096); }) &&
                      says_destroyed([&] { (void)device.allocate_host(4096); }) &&
                      says_destroyed([&] { (void)device.allocate_shared_host(4096); }) &&
                      says_destroyed([&] { (void)device.register_host(own); }) &&
                      says_destroyed([&] { (void)device.map(own, 64); }) &&
                      says_destroyed([&] { (void)device.stack(); }) &&
                      says_destroyed([&] { (void)launch(device, 1, [](unsigned) {}); });
                  return each ? 0 : 1;
              }),
              0);
}

TEST_F(ContextFailureTest, whatLivesInADestroyedContextGoesWithoutATouch) {
    EXPECT_EQ(in_child([] {
                  {
                      Device const device = Device::open("current");
                      Memory const memory = device.allocate(4096);
                      Memory const host = device.allocate_host(4096);
                      Memory const shared = device.allocate_shared_host(4096);
                      PersistentKernel<Thrice> kernel(device, {.wait = HostWait::Style::yield});
                      if (kernel.channel().call(14, 10s) != 42) return 1;
                      kernel.stop(10s);
                      destroy_stand_in_context();
                  }
                  return 0;
              }),
              0);
}

TEST_F(ContextFailureTest, aKernelInADestroyedContextHasEndedByAnError) {
    EXPECT_EQ(in_child([] {
                  Device const device = Device::open("current");
                  PersistentKernel<Thrice> kernel(device, {.wait = HostWait::Style::yield});
                  destroy_stand_in_context();
                  try {
                      (void)kernel.running();
                  } catch (CudaError const& error) {
                      return std::string(error.what())
                                     .starts_with("PersistentKernel::running: cuStreamQuery")
                                 ? 0
                                 : 2;
                  }
                  return 1;
              }),
              0);
}

}  // namespace
}  // namespace carillon::test
