// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"

namespace carillon::test {

struct CopyBody {
    std::uint32_t const* from;
    std::uint32_t* to;
    std::uint32_t count;

    CARILLON_HD void operator()(unsigned /*block*/) const {
        for (std::uint32_t i = 0; i < count; ++i) to[i] = from[i] + 1;
    }
};

namespace {

class MemoryTest : public DeviceTest {};
CARILLON_ON_EVERY_DEVICE(MemoryTest);

class MemoryKernelTest : public KernelTest {};
CARILLON_ON_EVERY_DEVICE(MemoryKernelTest);

constexpr std::uint32_t words = 10'000;

// Catches a mapping that is not the memory the device sees.
TEST_P(MemoryKernelTest, deviceSeesWhatTheHostWroteAndTheHostWhatTheDeviceWrote) {
    Memory const in = device().allocate(words * 4);
    Memory const out = device().allocate_host(words * 4);
    for (std::uint32_t i = 0; i < words; ++i) static_cast<std::uint32_t*>(in.host_ptr())[i] = 7 * i;
    in.flush(0, words * 4);
    auto const kernel = launch(device(), 1,
                               CopyBody{static_cast<std::uint32_t*>(in.device_ptr()),
                                        static_cast<std::uint32_t*>(out.device_ptr()), words});
    ASSERT_TRUE(kernel.wait(patience));
    for (std::uint32_t i = 0; i < words; ++i) {
        ASSERT_EQ(static_cast<std::uint32_t*>(out.host_ptr())[i], 7 * i + 1) << i;
    }
}

TEST_P(MemoryKernelTest, hostReadsDeviceMemoryAfterAnInvalidate) {
    Memory const in = device().allocate_host(words * 4);
    Memory const out = device().allocate(words * 4);
    for (std::uint32_t i = 0; i < words; ++i) static_cast<std::uint32_t*>(in.host_ptr())[i] = 5 * i;
    auto const kernel = launch(device(), 1,
                               CopyBody{static_cast<std::uint32_t*>(in.device_ptr()),
                                        static_cast<std::uint32_t*>(out.device_ptr()), words});
    ASSERT_TRUE(kernel.wait(patience));
    out.invalidate(0, words * 4);
    for (std::uint32_t i = 0; i < words; ++i) {
        ASSERT_EQ(static_cast<std::uint32_t*>(out.host_ptr())[i], 5 * i + 1) << i;
    }
}

TEST_P(MemoryTest, newMemoryIsZero) {
    for (int round = 0; round < 2; ++round) {  // the second may get what the first gave back
        Memory const near = device().allocate(5000);
        Memory const far = device().allocate_host(5000);
        for (Memory const* memory : {&near, &far}) {
            std::vector<char> bytes(5000);
            std::memcpy(bytes.data(), memory->host_ptr(), bytes.size());
            EXPECT_EQ(bytes, std::vector<char>(5000));
            std::memset(memory->host_ptr(), 0x5a, 5000);
        }
    }
}

TEST_P(MemoryTest, sizeIsTheOneAskedFor) {
    for (std::size_t size : {1UL, 64UL, 4096UL, 4097UL, 1UL << 20}) {
        Memory const memory = device().allocate(size);
        EXPECT_EQ(memory.size(), size);
        EXPECT_NE(memory.host_ptr(), nullptr);
        EXPECT_NE(memory.device_ptr(), nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.host_ptr()) % 64, 0U);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.device_ptr()) % 64, 0U);
        EXPECT_EQ(device().allocate_host(size).size(), size);
    }
}

TEST_P(MemoryTest, coherenceAndAtomAreTheDevices) {
    Memory const memory = device().allocate(4096);
    EXPECT_EQ(memory.coherent(), device().info().coherent);
    EXPECT_EQ(memory.atom_size(), device().info().atom_size);
    EXPECT_GE(memory.atom_size(), 1U);
    EXPECT_EQ(memory.range_sync() == nullptr, memory.coherent());
    EXPECT_TRUE(device().allocate_host(4096).coherent());
}

// Catches an address that works on the wrong side only because both are the same.
TEST_P(MemoryTest, deviceMemoryHasAnAddressOfItsOwnOnEachSide) {
    if (CARILLON_THREAD_SANITIZER != 0 && !on_gpu()) {
        GTEST_SKIP() << "mapped once, so that the thread sanitizer sees both sides";
    }
    Memory const memory = device().allocate(4096);
    EXPECT_NE(memory.host_ptr(), memory.device_ptr());
}

TEST_P(MemoryTest, flushAndInvalidateTakeRangesInsideTheMemoryOnly) {
    Memory const memory = device().allocate(1000);
    for (auto const& [offset, size] :
         {std::pair{0UL, 1000UL}, {0UL, 0UL}, {1000UL, 0UL}, {999UL, 1UL}, {1UL, 998UL}}) {
        EXPECT_NO_THROW(memory.flush(offset, size)) << offset << " " << size;
        EXPECT_NO_THROW(memory.invalidate(offset, size)) << offset << " " << size;
    }
    struct Range {
        std::size_t offset;
        std::size_t size;
    };
    for (Range const outside :
         {Range{0, 1001}, {1001, 0}, {1000, 1}, {1, ~0UL}, {~0UL, 1}, {~0UL, ~0UL}}) {
        CARILLON_EXPECT_ERROR(memory.flush(outside.offset, outside.size), UsageError,
                              "Memory::flush: ");
        CARILLON_EXPECT_ERROR(memory.invalidate(outside.offset, outside.size), UsageError,
                              "Memory::invalidate: ");
    }
}

TEST_P(MemoryTest, moveHandsTheMemoryOver) {
    Memory first = device().allocate(4096);
    void* const host = first.host_ptr();
    Memory second = std::move(first);
    EXPECT_EQ(second.host_ptr(), host);
    EXPECT_EQ(first.host_ptr(), nullptr);  // NOLINT(bugprone-use-after-move): what a move leaves
    Memory third = device().allocate(64);
    third = std::move(second);
    EXPECT_EQ(third.host_ptr(), host);
    EXPECT_EQ(third.size(), 4096U);
    static_cast<char*>(third.host_ptr())[4095] = 1;
}

TEST_P(MemoryTest, memoryOutlivesTheDeviceObjectThatMadeIt) {
    std::optional<Device> second = Device::open(GetParam());
    Memory const memory = second->allocate(4096);
    second.reset();
    static_cast<char*>(memory.host_ptr())[0] = 1;
    EXPECT_NO_THROW(memory.flush(0, 4096));
}

TEST_P(MemoryTest, zeroBytesIsAUsageError) {
    CARILLON_EXPECT_ERROR(device().allocate(0), UsageError, "Device::allocate: ");
    CARILLON_EXPECT_ERROR(device().allocate_host(0), UsageError, "Device::allocate_host: ");
    EXPECT_EQ(device().allocate(64).size(), 64U);
}

// Catches a heap that is not looked at, and a failed allocation that takes the device with it.
TEST_P(MemoryTest, moreThanTheHeapIsAnOutOfMemoryErrorWithTheNumbers) {
    constexpr std::size_t huge = 1UL << 50;
    CARILLON_EXPECT_ERROR(device().allocate(huge), OutOfMemoryError, std::to_string(huge));
    CARILLON_EXPECT_ERROR(device().allocate_host(huge), OutOfMemoryError, std::to_string(huge));
    EXPECT_EQ(device().allocate(64).size(), 64U);
    EXPECT_EQ(device().allocate_host(64).size(), 64U);
}

TEST_P(MemoryTest, exportedDescriptorClosesOnExec) {
    Memory const memory = device().allocate(4096);
    FileDescriptor const fd = memory.export_fd();
    int const flags = ::fcntl(fd.get(), F_GETFD);
    ASSERT_GE(flags, 0);
    EXPECT_EQ(flags & FD_CLOEXEC, FD_CLOEXEC);
}

TEST_P(MemoryTest, exportedDescriptorLeadsToTheSameBytes) {
    if (on_gpu()) GTEST_SKIP() << "a GPU's descriptor is opaque: CUDA's import of it is tested";
    Memory const memory = device().allocate(4096);
    std::string_view const text = "seen through another mapping";
    std::memcpy(static_cast<char*>(memory.host_ptr()) + 1000, text.data(), text.size());
    memory.flush(0, 4096);
    FileDescriptor const fd = memory.export_fd();
    struct stat file {};
    ASSERT_EQ(::fstat(fd.get(), &file), 0);
    auto const size = static_cast<std::size_t>(file.st_size);
    void* const other = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
    ASSERT_NE(other, MAP_FAILED);
    // The driver decides where the memory begins in the file of an opaque descriptor.
    EXPECT_NE(::memmem(other, size, text.data(), text.size()), nullptr);
    ::munmap(other, size);
}

TEST_P(MemoryTest, pageLockedMemoryOfAGpuHasNoDescriptor) {
    if (!on_gpu()) GTEST_SKIP() << "the emulated device's host memory is a memfd";
    CARILLON_EXPECT_ERROR(device().allocate_host(4096).export_fd(), UnsupportedError,
                          "Memory::export_fd: ");
}

}  // namespace
}  // namespace carillon::test
