// SPDX-License-Identifier: Apache-2.0
// The emulated device's memory, as far as it is not the same for every device (tests/device).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>

#include "carillon/detail/host/mapped_range.hpp"
#include "carillon/device.hpp"
#include "carillon/error.hpp"
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

// As libraries do that are given nothing but the device's address.
TEST_F(EmulatedMemoryTest, mappingIsFoundByTheDevicesAddressUntilTheMemoryGoes) {
    Memory memory = device_.allocate(5000);
    std::uint64_t const address = address_of(memory);
    auto const found = detail::find_mapped(address + 4999, 1);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->device, address);
    EXPECT_EQ(found->size, 5000U);
    EXPECT_EQ(found->host, memory.host_ptr());
    EXPECT_EQ(found->write_combining, 0U);
    Memory const moved = std::move(memory);
    EXPECT_TRUE(detail::find_mapped(address, 5000).has_value());
    EXPECT_TRUE(detail::find_mapped(address, 5001).has_value());
    EXPECT_FALSE(detail::find_mapped(address + 5000, 1).has_value());
    EXPECT_FALSE(detail::find_mapped(address - 1, 1).has_value());
    EXPECT_FALSE(detail::find_mapped((address & ~std::uint64_t{0xffff}) - 1, 1 << 20).has_value());
    std::uint64_t const rounded = address & ~std::uint64_t{0xffff};
    EXPECT_TRUE(detail::find_mapped(rounded, address - rounded + 1).has_value());
}

TEST_F(EmulatedMemoryTest, mappingOfMemoryThatHasGoneIsNotFound) {
    Memory memory = device_.allocate(4096);
    std::uint64_t const address = address_of(memory);
    auto const found = detail::find_mapped(address, 1);
    ASSERT_TRUE(found.has_value());
    memory = Memory();
    EXPECT_FALSE(detail::find_mapped(address, 1).has_value());
    EXPECT_FALSE(found->hold(address, true));
    EXPECT_FALSE(detail::find_mapped(address_of(device_.allocate_host(64)), 64).has_value());
}

TEST_F(EmulatedMemoryTest, memoryThatIsHeldStaysAfterItsUserHasFreedIt) {
    Memory memory = device_.allocate(4096);
    std::uint64_t const address = address_of(memory);
    test::MappedFile const file(memory);
    auto const found = detail::find_mapped(address, 1);
    ASSERT_TRUE(found.has_value());
    EXPECT_TRUE(found->hold(address, true));
    EXPECT_TRUE(found->hold(address, true));
    memory = Memory();
    EXPECT_FALSE(detail::find_mapped(address, 1).has_value());
    EXPECT_FALSE(found->hold(address, true));
    (void)found->hold(address, false);
    EXPECT_TRUE(file.is_mapped());
    (void)found->hold(address, false);
    EXPECT_FALSE(file.is_mapped());
}

TEST_F(EmulatedMemoryTest, mapsNoMemoryButItsOwn) {
    Memory const memory = device_.allocate(64);
    CARILLON_EXPECT_ERROR(device_.map(memory.device_ptr(), 64), UnsupportedError,
                          "no memory but what Device::allocate gives");
    CARILLON_EXPECT_ERROR(device_.map(nullptr, 64), UsageError, "64 bytes at");
    CARILLON_EXPECT_ERROR(device_.map(memory.device_ptr(), 0), UsageError, "0 bytes at");
}

}  // namespace
}  // namespace carillon::test
