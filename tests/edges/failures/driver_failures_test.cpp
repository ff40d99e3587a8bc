// SPDX-License-Identifier: Apache-2.0
// Every entry point of the CUDA and Vulkan drivers that the library calls fails once, in two ways.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "carillon/carillon.hpp"
#include "edges/failures/one_failure.hpp"
#include "edges/failures/vulkan_stand_in.hpp"
#include "support/environment_variable.hpp"
#include "support/eventually.hpp"
#if CARILLON_HAVE_CUDA_H
#include "cuda/cuda_driver.hpp"
#include "edges/failures/cuda_stand_in.hpp"
#endif

namespace carillon::test {
namespace {

using namespace std::chrono_literals;

constexpr auto patient = 10s;

struct Thrice {
    CARILLON_HD int operator()(int const& value) const { return 3 * value; }
};

void require(bool right, char const* what) {
    if (!right) throw std::logic_error(what);
}

void life_of_a_kernel(Device const& device) {
    PersistentKernel<Thrice> kernel(device, {.wait = HostWait::Style::yield});
    require(kernel.channel().call(14, patient) == 42, "a wrong reply");
    KernelState const state = kernel.state();
    require(state == KernelState::running || state == KernelState::failed, "another state");
    kernel.drain(patient);
    require(!kernel.running(), "a kernel that was drained runs");
}

// Asks the host.
struct AskThrice {
    HostService<int, int>::Caller host;

    CARILLON_HD int operator()(int const& value) {
        int answer = 0;
        auto const result = host.call(value, answer, 100'000'000);
        return result == HostCallResult::answered ? answer : -1;
    }
};

void with_services(Device const& device) {
    HostService<int, int> const service(
        device, [](int const& value) { return 3 * value; },
        {.callers = 4, .capacity = 32, .thread = {.wait = HostWait::Style::yield}});
    Arena const arena(device, 65536);
    ChunkRing<int> chunks(arena, {.chunk_bytes = 4096, .chunks = 2});
    require(chunks.try_claim().has_value(), "no chunk is free");
    PersistentKernel<AskThrice, Pool> kernel(
        device, {.wait = HostWait::Style::yield, .pool = {.clients = 2, .replies = 2}},
        AskThrice{service.device_handle()});
    auto client = kernel.client();
    int const answer = client.call(14, patient);
    require(answer == 42 || answer == -1, "a wrong reply");  // the host may have failed to
    service.flush(patient);
    service.rethrow_failure();
    kernel.stop(patient);
}

void emulated_memory() { life_of_a_kernel(Device::open("emulated:vulkan")); }
void emulated_services() { with_services(Device::open("emulated:vulkan")); }
void non_coherent_memory() {
    life_of_a_kernel(Device::open("emulated:vulkan", {.force_non_coherent = true}));
}
void non_coherent_services() {
    with_services(Device::open("emulated:vulkan", {.force_non_coherent = true}));
}

class DriverFailureTest : public testing::TestWithParam<Scenario> {
   protected:
    void SetUp() override {
        load_vulkan_stand_in();
#if CARILLON_HAVE_CUDA_H
        load_cuda_stand_in();
#endif
    }
};

TEST_P(DriverFailureTest, eachIsATypedErrorThatLeavesNothingBehind) {
    Environment const no_profiles("CARILLON_PROFILES", "/nowhere");
    expect_each_failure_is_survived(GetParam());
}

// No call but the flushes of the heartbeat's thread.
[[noreturn]] void fail_a_flush_of_the_heartbeat() {
    PersistentKernel<Thrice> kernel(Device::open("emulated:vulkan", {.force_non_coherent = true}));
    arm({FaultKind::vulkan, 1});
    bool const failed = eventually([&] { return kernel.state() == KernelState::failed; });
    (void)disarm();
    std::string text;
    try {
        (void)kernel.channel().call(14, patient);
    } catch (VulkanError const& error) {
        text = error.what();
    }
    kernel.stop(patient);
    (void)std::fprintf(stderr, "%s: %s\n", failed ? "failed" : "did not fail", text.c_str());
    std::_Exit(failed && text.starts_with("vkFlushMappedMemoryRanges") ? 0 : 1);
}

TEST(HeartFailureTest, flushThatFailsIsTheKernelsFailure) {
    load_vulkan_stand_in();
    EXPECT_EXIT(fail_a_flush_of_the_heartbeat(), testing::ExitedWithCode(0), "failed: vkFlush");
}

auto const name_of = [](auto const& of) { return std::string(of.param.name); };

std::vector<FaultKind> const vulkan{FaultKind::vulkan, FaultKind::system, FaultKind::thread};
std::vector<FaultKind> const vulkan_only{FaultKind::vulkan};

INSTANTIATE_TEST_SUITE_P(Vulkan, DriverFailureTest,
                         testing::Values(Scenario{"memory", &emulated_memory, vulkan},
                                         Scenario{"services", &emulated_services, vulkan_only},
                                         Scenario{"nonCoherent", &non_coherent_memory, vulkan_only},
                                         Scenario{"nonCoherentServices", &non_coherent_services,
                                                  vulkan_only}),
                         name_of);

#if CARILLON_HAVE_CUDA_H
// If one way to mapped memory fails, the library takes the next, and each says why it failed.
void mapped_memory() { life_of_a_kernel(Device::open("cuda:0", {.memory = DeviceMemory::mapped})); }
void mapped_services() { with_services(Device::open("cuda:0", {.memory = DeviceMemory::mapped})); }
void host_memory() { life_of_a_kernel(Device::open("cuda:0:host")); }
void any_device() { life_of_a_kernel(Device::open()); }
void by_uuid() {
    require(!Device::open("GPU-63617269-6c6c-6f6e-7374-616e642d696e").info().emulated,
            "another device");
}
// Bytes that no run before had: a destructor that is refused its context leaves them registered.
std::span<std::byte> own_bytes() {
    static std::array<std::array<std::byte, 3000>, 16> all;
    static std::size_t next = 0;
    return all.at(next++);
}

void registered_memory() {
    Device const device = Device::open("cuda:0:host");
    Memory const to = device.allocate(4096);
    std::span<std::byte> const bytes = own_bytes();
    bytes.back() = std::byte{'x'};
    auto const owner = std::make_shared<int>();
    {
        DeviceWriter writer(device);
        Memory const from = device.register_host(bytes, owner);
        writer.write(to, 5, from, 0, bytes.size(), patient);
        require(static_cast<char const*>(to.host_ptr())[3004] == 'x', "another byte");
        std::string text;
        try {
            (void)device.register_host(bytes);
        } catch (UsageError const& error) {
            text = error.what();
        }
        require(text.find("CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED") != text.npos, "no error");
    }
    require(owner.use_count() == 1, "the owner is kept");
}

void shared_memory() {
    Device const device = Device::open("cuda:0:host");
    Memory const memory = device.allocate_shared_host(3000);
    require(memory.export_fd().get() >= 0, "no descriptor");
    require(memory.device_ptr() != nullptr, "no address of the device's");
    PersistentKernel<Thrice> kernel(device);
    { Memory const retired = device.allocate_shared_host(5000); }
    require(kernel.channel().call(14, patient) == 42, "a wrong reply");
    kernel.stop(patient);
}
// Memory that the program has got from CUDA itself: the library maps it, and does not free it.
void memory_of_the_program() {
    constexpr std::size_t page = 65536;
    constexpr std::size_t size = 3 * page;
    auto const& cuda = detail::CudaDriver::get();
    if (cuda.cuMemGetHandleForAddressRange == nullptr) return;  // older ones have no way to it
    CUdeviceptr got = 0;
    cuda.check(cuda.cuMemAlloc(&got, size), "cuMemAlloc");
    auto const free = [&](CUdeviceptr const* each) { cuda.cuMemFree(*each); };
    std::unique_ptr<CUdeviceptr, decltype(free)> const freed(&got, free);
    auto* const address = reinterpret_cast<char*>((got + page - 1) / page * page);
    Device const device = Device::open("cuda:0:host");
    {
        Memory const memory = device.map(address, page + 10);
        require(memory.host_ptr() != address && memory.size() == page + 10, "another range");
        static_cast<char*>(memory.host_ptr())[page + 9] = 'x';
    }
    require(address[page + 9] == 'x', "another byte");
    std::string text;
    try {
        (void)device.map(&text, 8);
    } catch (UsageError const& error) {
        text = error.what();
    }
    require(text.find("not an address in GPU memory") != text.npos, "no error");
}
void current_context() { require(!Device::open("current").info().emulated, "another device"); }

std::vector<FaultKind> const all{FaultKind::cuda, FaultKind::vulkan, FaultKind::system,
                                 FaultKind::thread, FaultKind::allocation};
std::vector<FaultKind> const both{FaultKind::cuda, FaultKind::vulkan};

INSTANTIATE_TEST_SUITE_P(
    Cuda, DriverFailureTest,
    testing::Values(Scenario{"hostMemory", &host_memory, all, 7},
                    Scenario{"mappedMemory", &mapped_memory, all, 7},
                    Scenario{"mappedServices", &mapped_services, both},
                    Scenario{"registeredMemory", &registered_memory, all, 7},
                    Scenario{"sharedMemory", &shared_memory, all, 7},
                    Scenario{"memoryOfTheProgram", &memory_of_the_program, all, 7},
                    Scenario{"any", &any_device, both}, Scenario{"uuid", &by_uuid, both},
                    Scenario{"current", &current_context, both}),
    name_of);
#endif

}  // namespace
}  // namespace carillon::test
