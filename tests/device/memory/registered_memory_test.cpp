// SPDX-License-Identifier: Apache-2.0
// Memory of the caller's own that a device has registered.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "support/noise.hpp"

namespace carillon::test {

// Turns every bit of `count` bytes over, where they are.
struct InvertBytesBody {
    unsigned char* bytes;
    std::uint64_t count;

    CARILLON_HD void operator()(unsigned /*block*/) const {
        for (std::uint64_t i = 0; i < count; ++i) bytes[i] = static_cast<unsigned char>(~bytes[i]);
    }
};

struct AddSeven {
    CARILLON_HD int operator()(int const& value) const { return value + 7; }
};

namespace {

using Bytes = std::vector<std::byte>;

constexpr char const* call = "Device::register_host: ";

class RegisteredMemoryTest : public KernelTest {};
CARILLON_ON_EVERY_DEVICE(RegisteredMemoryTest);

TEST_P(RegisteredMemoryTest, isTheCallersWithWhatLiesThere) {
    Bytes bytes = noise(10'000, 1);
    Bytes const before = bytes;
    Memory const memory = device().register_host(bytes);
    EXPECT_EQ(memory.host_ptr(), bytes.data());
    EXPECT_NE(memory.device_ptr(), nullptr);
    EXPECT_EQ(memory.size(), bytes.size());
    EXPECT_TRUE(memory.coherent());
    EXPECT_TRUE(device().owns(memory));
    EXPECT_EQ(bytes, before);
    CARILLON_EXPECT_ERROR((void)memory.export_fd(), UnsupportedError, "Memory::export_fd: ");
}

// Catches an address of the device's that is that of the page, and a range that is cut short.
TEST_P(RegisteredMemoryTest, deviceReadsAndWritesItWhateverItsAlignment) {
    for (std::size_t const offset : {0U, 1U, 67U, 4095U}) {
        for (std::size_t const size : {1U, 100U, 4096U, 20'001U}) {
            Bytes bytes = noise(30'000, 2);
            Bytes expected = bytes;
            for (std::size_t i = 0; i < size; ++i) expected[offset + i] = ~expected[offset + i];
            Memory const memory = device().register_host(std::span(bytes).subspan(offset, size));
            auto* const there = static_cast<unsigned char*>(memory.device_ptr());
            ASSERT_TRUE(launch(device(), 1, InvertBytesBody{there, size}).wait(patience));
            ASSERT_EQ(bytes, expected) << offset << " " << size;
        }
    }
}

TEST_P(RegisteredMemoryTest, noBytesAndANullPointerAreUsageErrors) {
    std::byte byte{};
    CARILLON_EXPECT_ERROR((void)device().register_host({}), UsageError,
                          std::string(call) + "0 bytes requested");
    CARILLON_EXPECT_ERROR((void)device().register_host({&byte, 0}), UsageError,
                          std::string(call) + "0 bytes requested");
    CARILLON_EXPECT_ERROR((void)device().register_host({static_cast<std::byte*>(nullptr), 64}),
                          UsageError, std::string(call) + "64 bytes requested at a null pointer");
}

TEST_P(RegisteredMemoryTest, whatIsRegisteredIsNotRegisteredAgainBeforeItIsLetGo) {
    Bytes bytes(100'000);
    std::optional<Memory> memory = device().register_host(bytes);
    for (int i = 0; i < 2; ++i) {  // one that was refused changes nothing
        CARILLON_EXPECT_ERROR((void)device().register_host(bytes), UsageError,
                              std::string(call) + "some of the 100000 bytes at ");
        CARILLON_EXPECT_ERROR((void)device().register_host(bytes), UsageError,
                              "registered already");
    }
    memory.reset();
    memory = device().register_host(bytes);
    EXPECT_EQ(memory->host_ptr(), bytes.data());
}

// Catches bytes that stay registered until the other thread gets to them.
TEST_P(RegisteredMemoryTest, bytesAreRegisteredAgainWhileAnotherThreadLetsOthersGo) {
    Bytes bytes(5000);
    Bytes others(5000);
    auto const register_twice = [&] {
        for (int i = 0; i < 2; ++i) EXPECT_NO_THROW((void)device().register_host(bytes));
    };
    std::shared_ptr<void const> owner(
        &others, [&](void const* /*gone*/) { std::jthread const other(register_twice); });
    (void)device().register_host(others, std::move(owner));
}

// Catches a check that looks only at a range's begin, and a neighbour that is refused.
TEST_P(RegisteredMemoryTest, rangesThatOverlapAreUsageErrors) {
    if (on_gpu()) GTEST_SKIP() << "what CUDA says of ranges that overlap in part is its own affair";
    Bytes bytes(3000);
    std::span const all(bytes);
    Memory const memory = device().register_host(all.subspan(1000, 1000));
    struct Range {
        std::size_t offset;
        std::size_t size;
    };
    for (Range const range : {Range{0, 1001}, {0, 3000}, {1000, 1}, {1500, 100}, {1999, 1001}}) {
        CARILLON_EXPECT_ERROR((void)device().register_host(all.subspan(range.offset, range.size)),
                              UsageError, "registered already");
    }
    Memory const before = device().register_host(all.first(1000));
    Memory const behind = device().register_host(all.subspan(2000));
}

TEST_P(RegisteredMemoryTest, ownerIsLetGoWithIt) {
    auto bytes = std::make_shared<Bytes>(5000);
    std::weak_ptr<Bytes> const kept = bytes;
    std::optional<Memory> memory = device().register_host(*bytes, bytes);
    bytes.reset();
    ASSERT_FALSE(kept.expired());
    Memory moved = std::move(*memory);
    memory.reset();
    ASSERT_FALSE(kept.expired());
    std::memset(moved.host_ptr(), 1, moved.size());
    moved = Memory();
    EXPECT_TRUE(kept.expired());
}

TEST_P(RegisteredMemoryTest, ownerOfWhatCannotBeRegisteredIsNotKept) {
    auto const bytes = std::make_shared<Bytes>(5000);
    Memory const memory = device().register_host(*bytes);
    CARILLON_EXPECT_ERROR((void)device().register_host(*bytes, bytes), UsageError, call);
    EXPECT_EQ(bytes.use_count(), 1);
}

// Catches a destructor that waits for the kernel, and would never return; and bytes that are freed
// before the driver has released them.
TEST_P(RegisteredMemoryTest, isKeptWithItsOwnerWhileAKernelLives) {
    auto bytes = std::make_shared<Bytes>(5000);
    std::weak_ptr<Bytes> const kept = bytes;
    std::span<std::byte> const range(*bytes);
    PersistentKernel<AddSeven> kernel(device(), {.lifetime = 30s});
    { Memory const memory = device().register_host(range, std::move(bytes)); }
    EXPECT_FALSE(kept.expired());
    EXPECT_EQ(kernel.channel().call(3, patience), 10);
    CARILLON_EXPECT_ERROR((void)device().register_host(range), UsageError, "registered already");
    kernel.stop(patience);
    EXPECT_FALSE(kept.expired()) << "who stops a kernel has a deadline, and the driver may wait";
    { Memory const next = device().allocate_host(64); }  // with which it goes
    EXPECT_TRUE(kept.expired());
}

// Catches bytes that are unregistered, or freed, while the device fetches from them.
TEST_P(RegisteredMemoryTest, outlivesTheCopiesFromIt) {
    auto bytes = std::make_shared<Bytes>(noise(1'000'000, 3));
    std::weak_ptr<Bytes> const kept = bytes;
    Memory const there = device().allocate(bytes->size());
    {
        DeviceWriter writer(device(), {.threads = 64, .lifetime = 30s});
        std::optional<Memory> from = device().register_host(*bytes, bytes);
        Ticket const ticket = writer.submit(there, 1, *from, 3, 900'000, patience);
        from.reset();
        bytes.reset();
        EXPECT_FALSE(kept.expired());
        writer.wait(ticket, patience);
    }
    EXPECT_TRUE(kept.expired()) << "what the writer lets go itself comes after its kernel";
    Bytes const all = noise(1'000'000, 3);
    Bytes found(900'000);
    copy_from_device(found, there, 1);
    EXPECT_TRUE(std::equal(found.begin(), found.end(), all.begin() + 3));
}

}  // namespace
}  // namespace carillon::test
