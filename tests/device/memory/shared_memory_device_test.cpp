// SPDX-License-Identifier: Apache-2.0
// Page-locked host memory that another process maps by its descriptor.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "support/in_child.hpp"
#include "support/mapped_file.hpp"

namespace carillon::test {

// Adds one to each word.
struct CountUpBody {
    std::uint32_t* words;
    std::uint32_t count;

    CARILLON_HD void operator()(unsigned /*block*/) const {
        for (std::uint32_t i = 0; i < count; ++i) words[i] += 1;
    }
};

struct AddNine {
    CARILLON_HD int operator()(int const& value) const { return value + 9; }
};

namespace {

constexpr std::size_t shared_size = 10'000;

class SharedHostMemoryTest : public KernelTest {};
CARILLON_ON_EVERY_DEVICE(SharedHostMemoryTest);

// A second mapping of the memory that a descriptor leads to.
class OtherMapping {
   public:
    explicit OtherMapping(FileDescriptor const& file)
        : where_(::mmap(nullptr, shared_size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0)) {}
    ~OtherMapping() { ::munmap(where_, shared_size); }
    OtherMapping(OtherMapping const&) = delete;
    OtherMapping& operator=(OtherMapping const&) = delete;

    [[nodiscard]] bool there() const { return where_ != MAP_FAILED; }
    [[nodiscard]] char* at(std::size_t offset) const { return static_cast<char*>(where_) + offset; }

   private:
    void* where_;
};

char* at(Memory const& memory, std::size_t offset) {
    return static_cast<char*>(memory.host_ptr()) + offset;
}

TEST_P(SharedHostMemoryTest, isZeroedCoherentAndOfTheSizeAskedFor) {
    for (std::size_t const size : {1UL, 64UL, 4096UL, 5000UL, 1UL << 20, 5000UL}) {
        Memory const memory = device().allocate_shared_host(size);
        ASSERT_EQ(memory.size(), size);
        EXPECT_TRUE(memory.coherent());
        EXPECT_TRUE(device().owns(memory));
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.host_ptr()) % 64, 0U);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.device_ptr()) % 64, 0U);
        std::vector<char> bytes(size, 'x');
        std::memcpy(bytes.data(), memory.host_ptr(), size);
        EXPECT_EQ(bytes, std::vector<char>(size));
        std::memset(memory.host_ptr(), 0x5a, size);
    }
}

TEST_P(SharedHostMemoryTest, hasTheSameAddressesAsOtherHostMemory) {
    Memory const plain = device().allocate_host(64);
    Memory const shared = device().allocate_shared_host(64);
    EXPECT_NE(shared.device_ptr(), nullptr);
    EXPECT_EQ(shared.host_ptr() == shared.device_ptr(), plain.host_ptr() == plain.device_ptr());
}

TEST_P(SharedHostMemoryTest, descriptorLeadsToTheSameBytes) {
    Memory const memory = device().allocate_shared_host(shared_size);
    OtherMapping const other(memory.export_fd());
    ASSERT_TRUE(other.there());
    std::memcpy(at(memory, 9000), "from the host", 14);
    EXPECT_STREQ(other.at(9000), "from the host");
    std::memcpy(other.at(100), "from elsewhere", 15);
    EXPECT_STREQ(at(memory, 100), "from elsewhere");
}

// P is this process, C its child. P1: gets the descriptor. C2: maps it, reads P's bytes, and
// writes. P3: sees C's bytes, and so does the device.
TEST_P(SharedHostMemoryTest, childMapsTheDescriptorAndTheDeviceSeesWhatItWrites) {
    if (CARILLON_THREAD_SANITIZER != 0) {
        GTEST_SKIP() << "the thread sanitizer does not follow a fork beside threads";
    }
    Memory const memory = device().allocate_shared_host(shared_size);
    FileDescriptor const file = memory.export_fd();
    auto* const words = static_cast<std::uint32_t*>(memory.host_ptr());
    words[0] = 41;
    EXPECT_EQ(in_child([&] {
                  OtherMapping const other(file);
                  auto* const there = reinterpret_cast<std::uint32_t*>(other.at(0));
                  there[1] = there[0] + 1;
                  return 0;
              }),
              0);
    EXPECT_EQ(words[1], 42U);
    CountUpBody const body{static_cast<std::uint32_t*>(memory.device_ptr()), shared_size / 4};
    ASSERT_TRUE(launch(device(), 1, body).wait(patience));
    EXPECT_EQ(words[1], 43U);
    EXPECT_EQ(words[shared_size / 4 - 1], 1U);
}

// Catches memory that another holder of its descriptor can take away from under the kernel.
TEST_P(SharedHostMemoryTest, descriptorIsSealedAndClosesOnExec) {
    Memory const memory = device().allocate_shared_host(shared_size);
    FileDescriptor const file = memory.export_fd();
    EXPECT_EQ(::ftruncate(file.get(), 0), -1);
    EXPECT_EQ(::ftruncate(file.get(), 1 << 20), -1);
    EXPECT_EQ(::fcntl(file.get(), F_GETFD), FD_CLOEXEC);
    struct stat found {};
    ASSERT_EQ(::fstat(file.get(), &found), 0);
    EXPECT_EQ(found.st_size, shared_size);
}

TEST_P(SharedHostMemoryTest, whatCannotBeIsATypedError) {
    constexpr std::size_t huge = 1UL << 50;
    std::string const call = "Device::allocate_shared_host: ";
    CARILLON_EXPECT_ERROR((void)device().allocate_shared_host(0), UsageError, call);
    CARILLON_EXPECT_ERROR((void)device().allocate_shared_host(huge), OutOfMemoryError,
                          call + std::to_string(huge));
    EXPECT_EQ(device().allocate_shared_host(64).size(), 64U);
}

TEST_P(SharedHostMemoryTest, isUnmappedWhenItIsLetGo) {
    std::optional<Memory> memory = device().allocate_shared_host(shared_size);
    MappedFile const file(*memory);
    EXPECT_TRUE(file.is_mapped());
    memory.reset();
    EXPECT_FALSE(file.is_mapped());
}

// Catches an end of the registration that waits for the kernel, and pages that go before it.
TEST_P(SharedHostMemoryTest, isKeptWhileAKernelLives) {
    PersistentKernel<AddNine> kernel(device(), {.lifetime = 30s});
    std::optional<Memory> memory = device().allocate_shared_host(shared_size);
    MappedFile const file(*memory);
    memory.reset();
    EXPECT_TRUE(file.is_mapped());
    EXPECT_EQ(kernel.channel().call(3, patience), 12);
    kernel.stop(patience);
    EXPECT_TRUE(file.is_mapped()) << "who stops a kernel has a deadline, and the driver may wait";
    { Memory const next = device().allocate_host(64); }  // with which it goes
    EXPECT_FALSE(file.is_mapped());
}

}  // namespace
}  // namespace carillon::test
