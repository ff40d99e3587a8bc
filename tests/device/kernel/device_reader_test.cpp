// SPDX-License-Identifier: Apache-2.0
// Device memory that the device sends.
#include "carillon/device_reader.hpp"

#include <cstring>
#include <memory>
#include <vector>

#include "carillon/copy.hpp"
#include "device/device_fixture.hpp"
#include "support/noise.hpp"

namespace carillon::test {
namespace {

constexpr std::size_t region = 100'000;

bool same(std::span<std::byte const> got, std::span<std::byte const> expected) {
    return got.size() == expected.size() &&
           (got.empty() || std::memcmp(got.data(), expected.data(), got.size()) == 0);
}

// Device memory of known contents and a reader of it.
class DeviceReaderTest : public KernelTest {
   protected:
    void SetUp() override {
        KernelTest::SetUp();
        if (IsSkipped()) return;
        memory_ = std::make_unique<Memory>(device().allocate(region));
        bytes_ = noise(region, 1);
        copy_to_device(*memory_, 0, bytes_);
    }

    [[nodiscard]] Memory const& memory() const { return *memory_; }
    [[nodiscard]] std::span<std::byte const> expected(std::size_t offset, std::size_t size) const {
        return std::span(bytes_).subspan(offset, size);
    }
    // Small, so that most reads are of several shares or of just one.
    [[nodiscard]] static DeviceReaderOptions options() {
        return {.largest = region, .blocks = 2, .threads = 64};
    }

   private:
    std::unique_ptr<Memory> memory_;
    std::vector<std::byte> bytes_;
};
CARILLON_ON_EVERY_DEVICE(DeviceReaderTest);

// Catches a line, a head, a tail or a share that is left out or comes from elsewhere.
TEST_P(DeviceReaderTest, everyLengthIsReadExactly) {
    DeviceReader reader(device(), options());
    for (std::size_t size :
         {0U,   1U,   2U,   11U,  12U,   13U,   47U,   48U,   49U,   64U,   96U,    97U,
          383U, 384U, 385U, 400U, 1000U, 4095U, 4096U, 4097U, 8191U, 8193U, 99'991U}) {
        ASSERT_TRUE(same(reader.read(memory(), 0, size, patience), expected(0, size))) << size;
    }
}

TEST_P(DeviceReaderTest, everyAlignmentIsReadExactly) {
    DeviceReader reader(device(), options());
    for (std::size_t offset = 0; offset <= 66; ++offset) {
        for (std::size_t size : {1U, 3U, 12U, 50U, 385U, 9001U}) {
            ASSERT_TRUE(same(reader.read(memory(), offset, size, patience), expected(offset, size)))
                << offset << " " << size;
        }
    }
}

TEST_P(DeviceReaderTest, addressIsReadAsMemoryIs) {
    DeviceReader reader(device(), options());
    auto const* const address = static_cast<std::byte const*>(memory().device_ptr());
    EXPECT_TRUE(same(reader.read(address + 5, 20, patience), expected(5, 20)));
    EXPECT_TRUE(same(reader.read(address + 7, 2000, patience), expected(7, 2000)));
    EXPECT_TRUE(reader.read(nullptr, 0, patience).empty());
}

// Catches a request that overtakes the copy, and a device that reads from its cache.
TEST_P(DeviceReaderTest, whatWasCopiedThereBeforeIsRead) {
    DeviceReader reader(device(), options());
    for (unsigned round = 0; round < 100; ++round) {
        std::size_t const size = round % 2 == 0 ? 100 : 6000;
        std::vector<std::byte> const fresh = noise(size, round);
        copy_to_device(memory(), round, fresh);
        ASSERT_TRUE(same(reader.read(memory(), round, size, patience), fresh)) << round;
    }
}

// Catches a ring of requests or replies whose credit is not returned.
TEST_P(DeviceReaderTest, manyReadsWrapTheRings) {
    DeviceReader reader(device(), options());
    for (std::size_t i = 0; i < 500; ++i) {
        std::size_t const size = i % 5 == 0 ? 5000 : 1 + i % 384;
        ASSERT_TRUE(same(reader.read(memory(), i, size, patience), expected(i, size))) << i;
    }
}

TEST_P(DeviceReaderTest, oneBlockReadsAlone) {
    DeviceReader reader(device(), {.largest = 20'000, .blocks = 1, .threads = 32});
    EXPECT_TRUE(same(reader.read(memory(), 3, 20'000, patience), expected(3, 20'000)));
}

TEST_P(DeviceReaderTest, moreThanTheLargestReadIsAUsageError) {
    DeviceReader reader(device(), {.largest = 500});
    EXPECT_TRUE(same(reader.read(memory(), 1, 500, patience), expected(1, 500)));
    CARILLON_EXPECT_ERROR(reader.read(memory(), 1, 501, patience), UsageError,
                          "DeviceReader::read: 501 bytes requested, but the largest read is 500");
}

TEST_P(DeviceReaderTest, rangeOutsideTheMemoryIsAUsageError) {
    DeviceReader reader(device(), options());
    CARILLON_EXPECT_ERROR(reader.read(memory(), region, 1, patience), UsageError,
                          "DeviceReader::read: 1 bytes from byte 100000 on");
    EXPECT_TRUE(reader.read(memory(), region, 0, patience).empty());
}

TEST_P(DeviceReaderTest, optionsThatMakeNoSenseAreUsageErrors) {
    CARILLON_EXPECT_ERROR(DeviceReader(device(), {.threads = 33}), UsageError, "33 threads");
    CARILLON_EXPECT_ERROR(DeviceReader(device(), {.threads = 0}), UsageError, "0 threads");
    CARILLON_EXPECT_ERROR(DeviceReader(device(), {.blocks = 0}), UsageError, "one block");
    CARILLON_EXPECT_ERROR(DeviceReader(device(), {.largest = 0}), UsageError, "the largest read");
}

// Catches a late reply that is taken for that of the next read.
TEST_P(DeviceReaderTest, readAfterOneThatWasGivenUpIsItsOwn) {
    DeviceReader reader(device(), options());
    for (std::size_t i = 0; i < 40; ++i) {
        std::size_t const given_up = i % 3 == 0 ? 90'000 : 300;
        try {  // it may be in time all the same
            (void)reader.read(memory(), 50, given_up, 0ns);
        } catch (TimeoutError const& error) {
            ASSERT_STREQ(error.call().c_str(), "DeviceReader::read");
        }
        std::size_t const size = i % 2 == 0 ? 60'000 : 200;
        ASSERT_TRUE(same(reader.read(memory(), i, size, patience), expected(i, size))) << i;
    }
}

TEST_P(DeviceReaderTest, readAfterAStopIsAStoppedError) {
    DeviceReader reader(device(), options());
    EXPECT_TRUE(reader.running());
    reader.stop(patience);
    EXPECT_FALSE(reader.running());
    CARILLON_EXPECT_ERROR(reader.read(memory(), 0, 10, patience), StoppedError,
                          "DeviceReader::read");
    reader.stop(patience);
}

// Catches a reader that waits for its whole timeout for a kernel that is gone.
TEST_P(DeviceReaderTest, readFromAKernelThatHasEndedIsAStoppedError) {
    DeviceReaderOptions brief = options();
    brief.lifetime = 1ms;
    DeviceReader reader(device(), brief);
    ASSERT_TRUE(eventually([&] { return !reader.running(); }));
    CARILLON_EXPECT_ERROR(reader.read(memory(), 0, 10, patience), StoppedError, "has ended");
    CARILLON_EXPECT_ERROR(reader.read(memory(), 0, 10'000, patience), StoppedError, "has ended");
}

TEST_P(DeviceReaderTest, movedReaderGoesOnReading) {
    DeviceReader first(device(), options());
    DeviceReader second(std::move(first));
    EXPECT_TRUE(same(second.read(memory(), 9, 77, patience), expected(9, 77)));
    DeviceReader third(device(), options());
    third = std::move(second);
    EXPECT_TRUE(same(third.read(memory(), 9, 7777, patience), expected(9, 7777)));
}

}  // namespace
}  // namespace carillon::test
