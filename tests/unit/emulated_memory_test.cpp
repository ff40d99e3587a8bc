// SPDX-License-Identifier: Apache-2.0
// The emulated device's memory, as far as it is not the same for every device (tests/device).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>

#include "carillon/device.hpp"
#include "carillon/error.hpp"
#include "device/allocation.hpp"
#include "support/expect_error.hpp"
#include "support/mapped_file.hpp"

namespace carillon::test {
namespace {

class EmulatedMemoryTest : public testing::Test {
   protected:
    Device device_ = Device::open("emulated");
};

TEST_F(EmulatedMemoryTest, descriptorMapsTheSameBytesBothWays) {
    Memory const memory = device_.allocate(8192);
    FileDescriptor const fd = memory.export_fd();
    void* const other = ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    ASSERT_NE(other, MAP_FAILED);
    std::memcpy(memory.host_ptr(), "from the host", 14);
    EXPECT_STREQ(static_cast<char*>(other), "from the host");
    std::memcpy(static_cast<char*>(other) + 5000, "from elsewhere", 15);
    EXPECT_STREQ(static_cast<char*>(memory.host_ptr()) + 5000, "from elsewhere");
    ::munmap(other, 8192);
}

TEST_F(EmulatedMemoryTest, descriptorOutlivesTheMemory) {
    FileDescriptor fd;
    {
        Memory const memory = device_.allocate(4096);
        std::memcpy(memory.host_ptr(), "still here", 11);
        fd = memory.export_fd();
    }
    void* const other = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd.get(), 0);
    ASSERT_NE(other, MAP_FAILED);
    EXPECT_STREQ(static_cast<char*>(other), "still here");
    ::munmap(other, 4096);
}

TEST_F(EmulatedMemoryTest, eachExportIsADescriptorOfItsOwn) {
    Memory const memory = device_.allocate(4096);
    FileDescriptor const first = memory.export_fd();
    FileDescriptor const second = memory.export_fd();
    EXPECT_NE(first.get(), second.get());
}

TEST_F(EmulatedMemoryTest, infoSaysThatItIsEmulated) {
    EXPECT_TRUE(device_.emulated());
    EXPECT_EQ(device_.info().selector, "emulated");
    EXPECT_EQ(device_.info().memory_source, MemorySource::memfd);
    EXPECT_EQ(device_.info().store_instruction, "cached");
    EXPECT_NE(device_.info().name.find("emulated"), std::string::npos);
    EXPECT_EQ(device_.info().why_emulated, "");  // it was asked for
    EXPECT_FALSE(device_.info().compute_capability.has_value());
}

[[nodiscard]] std::uint64_t address_of(Memory const& memory) {
    return reinterpret_cast<std::uint64_t>(memory.device_ptr());
}

// The memory that this copy of the library holds at `size` bytes from `address` on.
HeldMemory held_at(std::uint64_t address, std::uint64_t size) {
    HeldMemory found;
    HoldResult const result = detail::hold_memory(address, size, found);
    EXPECT_EQ(result, found.size == 0 ? HoldResult::none : HoldResult::held);
    return found;
}
bool is_found(std::uint64_t address, std::uint64_t size) {
    HeldMemory const found = held_at(address, size);
    if (found.size != 0) found.release(found.device);
    return found.size != 0;
}

// Libraries that get only the device's address look so.
TEST_F(EmulatedMemoryTest, mappingIsFoundByTheDevicesAddressUntilTheMemoryGoes) {
    Memory memory = device_.allocate(5000);
    std::uint64_t const address = address_of(memory);
    HeldMemory const found = held_at(address + 4999, 1);
    EXPECT_EQ(found.device, address);
    EXPECT_EQ(found.size, 5000U);
    EXPECT_EQ(found.host, memory.host_ptr());
    EXPECT_FALSE(found.write_combining);
    found.release(address);
    Memory const moved = std::move(memory);
    EXPECT_TRUE(is_found(address, 5000));
    EXPECT_TRUE(is_found(address, 5001));
    EXPECT_TRUE(is_found(address - 1, 2));
    EXPECT_FALSE(is_found(address + 5000, 1));
    EXPECT_FALSE(is_found(address - 1, 1));
}

TEST_F(EmulatedMemoryTest, mappingOfMemoryThatHasGoneIsNotFound) {
    Memory memory = device_.allocate(4096);
    std::uint64_t const address = address_of(memory);
    EXPECT_TRUE(is_found(address, 1));
    memory = Memory();
    EXPECT_FALSE(is_found(address, 1));
    EXPECT_FALSE(is_found(address_of(device_.allocate_host(64)), 64));
}

TEST_F(EmulatedMemoryTest, memoryThatIsHeldStaysAfterItsUserHasFreedIt) {
    Memory memory = device_.allocate(4096);
    std::uint64_t const address = address_of(memory);
    test::MappedFile const file(memory);
    HeldMemory const found = held_at(address, 1);
    EXPECT_EQ(held_at(address, 1).device, address);
    memory = Memory();
    EXPECT_FALSE(is_found(address, 1));
    found.release(address);
    EXPECT_TRUE(file.is_mapped());
    found.release(address);
    EXPECT_FALSE(file.is_mapped());
}

TEST_F(EmulatedMemoryTest, mapsNoMemoryButItsOwn) {
    Memory const memory = device_.allocate(64);
    CARILLON_EXPECT_ERROR(device_.map(memory.device_ptr(), 64), UnsupportedError,
                          "maps only memory from Device::allocate");
    CARILLON_EXPECT_ERROR(device_.map(nullptr, 64), UsageError, "the device address is null");
    CARILLON_EXPECT_ERROR(device_.map(memory.device_ptr(), 0), UsageError, "0 bytes requested");
}

}  // namespace
}  // namespace carillon::test
