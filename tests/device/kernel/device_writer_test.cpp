// SPDX-License-Identifier: Apache-2.0
// Device memory that the device writes for the CPU.
#include "carillon/device_writer.hpp"

#include <cstring>
#include <memory>
#include <vector>

#include "carillon/copy.hpp"
#include "carillon/device_reader.hpp"
#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "support/noise.hpp"

namespace carillon::test {

// Bytes that a writer has copied, and the host's bytes to compare them with.
struct Written {
    unsigned char const* at;
    unsigned char const* expected;  // host memory
    std::uint64_t size;
};
struct CountDifferences {
    CARILLON_HD std::uint64_t operator()(Written const& written) const {
        std::uint64_t wrong = 0;
        for (std::uint64_t i = 0; i < written.size; ++i) {
            if (written.at[i] != written.expected[i]) ++wrong;
        }
        return wrong;
    }
};

namespace {

// Device memory; page-locked memory of known contents, the library's and the program's own; and the
// content that the device memory shall get.
class DeviceWriterTest : public KernelTest {
   protected:
    static constexpr std::size_t region = (std::size_t{1} << 20) + 200;
    static constexpr std::byte untouched{0xa5};

    void SetUp() override {
        KernelTest::SetUp();
        if (IsSkipped()) return;
        there_ = std::make_unique<Memory>(device().allocate(region));
        locked_ = std::make_unique<Memory>(device().allocate_host(region));
        bytes_ = noise(region, 1);
        std::memcpy(locked_->host_ptr(), bytes_.data(), region);
        own_ = bytes_;
        registered_ = std::make_unique<Memory>(device().register_host(own_));
    }

    [[nodiscard]] Memory const& there() const { return *there_; }
    [[nodiscard]] Memory const& locked() const { return *locked_; }
    [[nodiscard]] Memory const& registered() const { return *registered_; }
    [[nodiscard]] std::span<std::byte const> bytes(std::size_t offset, std::size_t size) const {
        return std::span(bytes_).subspan(offset, size);
    }
    // Small, so that copies go through all chunks several times, and are of several pieces.
    [[nodiscard]] static DeviceWriterOptions options() {
        return {.chunk = 5000, .chunks = 3, .blocks = 2, .threads = 64};
    }

    void clear(std::size_t size) const {
        copy_to_device(there(), 0, std::vector<std::byte>(size, untouched));
    }
    // Whether `size` bytes from the source's byte `from` on are at `offset`, and around them, in
    // memory that was cleared, nothing else.
    [[nodiscard]] bool are_there(std::size_t offset, std::size_t from, std::size_t size) const {
        constexpr std::size_t around = 64;
        std::size_t const first = offset < around ? 0 : offset - around;
        std::size_t const last = std::min(offset + size + around, region);
        std::vector<std::byte> expected(last - first, untouched);
        auto const source = bytes(from, size);
        std::copy(source.begin(), source.end(),
                  expected.begin() + static_cast<std::ptrdiff_t>(offset - first));
        std::vector<std::byte> found(last - first);
        copy_from_device(found, there(), first);
        return found == expected;
    }

   private:
    std::unique_ptr<Memory> there_;
    std::unique_ptr<Memory> locked_;
    std::vector<std::byte> bytes_;
    std::vector<std::byte> own_;
    std::unique_ptr<Memory> registered_;
};
CARILLON_ON_EVERY_DEVICE(DeviceWriterTest);

// Catches a head, a tail, a piece or a chunk that is left out, comes from elsewhere or spills over.
TEST_P(DeviceWriterTest, everyLengthIsWrittenExactly) {
    DeviceWriter writer(device(), options());
    for (std::size_t size :
         {0U, 1U, 15U, 16U, 17U, 4095U, 4096U, 4097U, 65'539U, 123'457U, 1'048'576U}) {
        for (Memory const* from : {&locked(), &registered()}) {
            clear(size + 200);
            writer.write(there(), 67, *from, 67, size, patience);
            ASSERT_TRUE(are_there(67, 67, size)) << size;
        }
        clear(size + 200);
        writer.write(there(), 67, bytes(3, size), patience);
        ASSERT_TRUE(are_there(67, 3, size)) << size << " through chunks";
    }
}

TEST_P(DeviceWriterTest, everyAlignmentIsWrittenExactly) {
    DeviceWriter writer(device(), options());
    for (std::size_t offset = 0; offset <= 16; ++offset) {
        for (std::size_t from = 0; from <= 16; ++from) {
            for (std::size_t size : {1U, 14U, 16U, 33U, 3001U}) {
                clear(size + 100);
                writer.write(there(), offset, from % 3 == 0 ? registered() : locked(), from, size,
                             patience);
                ASSERT_TRUE(are_there(offset, from, size)) << offset << " " << from << " " << size;
            }
        }
        clear(9100);
        writer.write(there(), offset, bytes(offset * 3, 9001), patience);
        ASSERT_TRUE(are_there(offset, offset * 3, 9001)) << offset << " through chunks";
    }
}

TEST_P(DeviceWriterTest, addressIsWrittenAsMemoryIs) {
    DeviceWriter writer(device(), options());
    auto* const to = static_cast<std::byte*>(there().device_ptr());
    auto const* const from = static_cast<std::byte const*>(locked().device_ptr());
    clear(10'000);
    writer.write(to + 5, from + 11, 6000, patience);
    EXPECT_TRUE(are_there(5, 11, 6000));
    clear(10'000);
    writer.write(to + 7, bytes(9, 8000), patience);
    EXPECT_TRUE(are_there(7, 9, 8000));
    writer.write(nullptr, {}, patience);
    writer.write(nullptr, nullptr, 0, patience);
}

// Catches the second round of pieces, and a last one that is not as long.
TEST_P(DeviceWriterTest, copyOfMorePiecesThanBlocksIsWhole) {
    constexpr std::size_t size = (std::size_t{9} << 20) + 5;
    Memory const to = device().allocate(size);
    Memory const from = device().allocate_host(size);
    std::vector<std::byte> const all = noise(size, 2);
    std::memcpy(from.host_ptr(), all.data(), size);
    DeviceWriter writer(device(), {.blocks = 1});
    writer.write(to, 0, from, 0, size, patience);
    DeviceReader reader(device(), {.largest = size});
    auto const found = reader.read(to, 0, size, patience);
    EXPECT_EQ(std::memcmp(found.data(), all.data(), size), 0);
}

// Catches a request that overtakes the CPU's earlier writes, a device that reads old bytes from a
// cache, and an answer ahead of the bytes.
TEST_P(DeviceWriterTest, whatWasWrittenLastIsFetched) {
    DeviceWriter writer(device(), options());
    for (unsigned round = 0; round < 200; ++round) {
        std::size_t const size = round % 2 == 0 ? 100 : 20'000;
        std::vector<std::byte> const fresh = noise(size, round);
        Memory const& source = round % 4 < 2 ? locked() : registered();
        std::memcpy(static_cast<std::byte*>(source.host_ptr()) + 3, fresh.data(), size);
        copy_to_device(there(), 5, std::vector<std::byte>(size));  // is overwritten
        writer.write(there(), 5, source, 3, size, patience);
        std::vector<std::byte> found(size);
        copy_from_device(found, there(), 5);
        ASSERT_EQ(found, fresh) << round;
    }
}

// Catches a kernel that sees a message ahead of the writes before it, or old bytes in a cache.
TEST_P(DeviceWriterTest, kernelThatTakesALaterMessageSeesWhatWasWritten) {
    DeviceWriter writer(device(), options());
    PersistentKernel<CountDifferences> kernel(device());
    auto const* const at = static_cast<unsigned char const*>(there().device_ptr());
    auto const* const expected = static_cast<unsigned char const*>(locked().device_ptr());
    for (unsigned round = 0; round < 100; ++round) {
        std::size_t const size = 50 + 30 * round;
        std::vector<std::byte> const fresh = noise(size, round);
        std::memcpy(locked().host_ptr(), fresh.data(), size);
        round % 2 == 0 ? writer.write(there(), 0, locked(), 0, size, patience)
                       : writer.write(there(), 0, fresh, patience);
        ASSERT_EQ(kernel.channel().call({at, expected, size}, patience, OutOfLine::written), 0U)
            << round;
    }
}

// Catches credits that are not returned, and answers of one copy that are taken for another's.
TEST_P(DeviceWriterTest, manyCopiesMayBeUnderWayAtOnce) {
    DeviceWriter writer(device(), options());
    constexpr std::size_t size = 1000;
    clear(region);
    std::vector<Ticket> tickets;
    for (std::size_t i = 0; i < 500; ++i) {
        tickets.push_back(
            writer.submit(there(), i * 2 * size, locked(), i * 2 * size + i % 7, size, patience));
    }
    for (std::size_t i : {499U, 0U, 250U, 0U}) {
        writer.wait(tickets[i], patience);
        EXPECT_TRUE(writer.try_wait(tickets[i]));
        EXPECT_TRUE(are_there(i * 2 * size, i * 2 * size + i % 7, size)) << i;
    }
}

TEST_P(DeviceWriterTest, copyThatWasSubmittedIsThereSomeTime) {
    DeviceWriter writer(device(), options());
    clear(region);
    auto* const to = static_cast<std::byte*>(there().device_ptr());
    Ticket const ticket = writer.submit(to, locked().device_ptr(), 200'000, patience);
    ASSERT_TRUE(eventually([&] { return writer.try_wait(ticket); }));
    EXPECT_TRUE(are_there(0, 0, 200'000));
    writer.wait(writer.submit(there(), 0, locked(), 0, 0, patience), 0ns);
}

TEST_P(DeviceWriterTest, ticketOfAnotherWriterIsAUsageError) {
    DeviceWriter writer(device(), options());
    DeviceWriter other(device(), options());
    Ticket const ticket = other.submit(there(), 0, locked(), 0, 10, patience);
    CARILLON_EXPECT_ERROR(writer.wait(ticket, patience), UsageError,
                          "DeviceWriter::wait: the ticket belongs to another writer");
    CARILLON_EXPECT_ERROR((void)writer.try_wait(ticket), UsageError, "DeviceWriter::try_wait");
    other.wait(ticket, patience);
}

// Catches an old copy that arrives in the place of a new one, and a chunk that is filled while the
// device fetches from it.
TEST_P(DeviceWriterTest, copyAfterOneThatWasGivenUpIsItsOwn) {
    DeviceWriter writer(device(), options());
    for (std::size_t i = 0; i < 60; ++i) {
        try {  // it may be in time all the same
            if (i % 3 == 0) writer.write(there(), 9, bytes(7, 90'000), 0ns);
            if (i % 3 == 1) writer.write(there(), 9, locked(), 7, 90'000, 0ns);
        } catch (TimeoutError const& error) {
            ASSERT_STREQ(error.call().c_str(), "DeviceWriter::write");
        }
        std::size_t const size = i % 2 == 0 ? 60'000 : 200;
        i % 4 < 2 ? writer.write(there(), 9, bytes(i, size), patience)
                  : writer.write(there(), 9, locked(), i, size, patience);
        std::vector<std::byte> found(size);
        copy_from_device(found, there(), 9);
        ASSERT_TRUE(std::equal(found.begin(), found.end(), bytes(i, size).begin())) << i;
    }
}

// Catches a copy by the CPU that is not, or one by the writer.
TEST_P(DeviceWriterTest, copyToDeviceMayGoEitherWay) {
    DeviceWriter writer(device(), options());
    for (std::size_t size : {std::size_t{0}, std::size_t{100}, DeviceWriter::turning_point - 1,
                             DeviceWriter::turning_point, DeviceWriter::turning_point_of_chunks}) {
        for (Memory const* from : {&locked(), &registered()}) {
            clear(region);
            copy_to_device(there(), 7, *from, 5, size, writer, patience);
            EXPECT_TRUE(are_there(7, 5, size)) << size;
        }
        clear(region);
        copy_to_device(there(), 3, bytes(9, size), writer, patience);
        EXPECT_TRUE(are_there(3, 9, size)) << size << " of any memory";
    }
    writer.stop(patience);
    copy_to_device(there(), 0, locked(), 0, 100, writer, patience);
    if (device().info().memory_source == MemorySource::host) return;
    CARILLON_EXPECT_ERROR(
        copy_to_device(there(), 0, locked(), 0, DeviceWriter::turning_point, writer, patience),
        StoppedError, "copy_to_device");
}

TEST_P(DeviceWriterTest, rangeOutsideAMemoryIsAUsageError) {
    DeviceWriter writer(device(), options());
    char const* const range = " bytes from byte 1048776 on exceed the memory of 1048776 bytes";
    CARILLON_EXPECT_ERROR(writer.write(there(), region, bytes(0, 1), patience), UsageError,
                          std::string("DeviceWriter::write: 1") + range);
    CARILLON_EXPECT_ERROR(writer.write(there(), 0, locked(), region, 2, patience), UsageError,
                          std::string("DeviceWriter::write: 2") + range);
    CARILLON_EXPECT_ERROR((void)writer.submit(there(), region, locked(), 0, 3, patience),
                          UsageError, std::string("DeviceWriter::submit: 3") + range);
    CARILLON_EXPECT_ERROR(copy_to_device(there(), region, bytes(0, 4), writer, patience),
                          UsageError, std::string("copy_to_device: 4") + range);
    CARILLON_EXPECT_ERROR(copy_to_device(there(), 0, locked(), region, 5, writer, patience),
                          UsageError, std::string("copy_to_device: 5") + range);
    CARILLON_EXPECT_ERROR(writer.write(there(), 0, registered(), region, 6, patience), UsageError,
                          std::string("DeviceWriter::write: 6") + range);
    writer.write(there(), region, {}, patience);
}

TEST_P(DeviceWriterTest, optionsThatMakeNoSenseAreUsageErrors) {
    CARILLON_EXPECT_ERROR(DeviceWriter(device(), {.threads = 33}), UsageError, "33 threads");
    CARILLON_EXPECT_ERROR(DeviceWriter(device(), {.threads = 544}), UsageError, "from 32 to 512");
    CARILLON_EXPECT_ERROR(DeviceWriter(device(), {.blocks = 0}), UsageError, "one block");
    CARILLON_EXPECT_ERROR(DeviceWriter(device(), {.chunk = 0}), UsageError, "is 0 bytes");
    CARILLON_EXPECT_ERROR(DeviceWriter(device(), {.chunks = 0}), UsageError,
                          "DeviceWriterOptions::chunks is 0");
}

TEST_P(DeviceWriterTest, writeAfterAStopIsAStoppedError) {
    DeviceWriter writer(device(), options());
    EXPECT_TRUE(writer.running());
    Ticket const done = writer.submit(there(), 0, locked(), 0, 10, patience);
    writer.wait(done, patience);
    writer.stop(patience);
    EXPECT_FALSE(writer.running());
    CARILLON_EXPECT_ERROR(writer.write(there(), 0, bytes(0, 10), patience), StoppedError,
                          "DeviceWriter::write");
    CARILLON_EXPECT_ERROR((void)writer.submit(there(), 0, locked(), 0, 10, patience), StoppedError,
                          "DeviceWriter::submit");
    writer.wait(done, patience);  // it is there all the same
    writer.stop(patience);
}

// Catches a writer that waits for its whole timeout for a kernel that is gone.
TEST_P(DeviceWriterTest, writeByAKernelThatHasEndedIsAStoppedError) {
    DeviceWriterOptions brief = options();
    brief.lifetime = 1ms;
    DeviceWriter writer(device(), brief);
    ASSERT_TRUE(eventually([&] { return !writer.running(); }));
    CARILLON_EXPECT_ERROR(writer.write(there(), 0, bytes(0, 10), patience), StoppedError,
                          "has ended");
    CARILLON_EXPECT_ERROR(writer.write(there(), 0, locked(), 0, region, patience), StoppedError,
                          "has ended");
}

TEST_P(DeviceWriterTest, movedWriterGoesOnWriting) {
    clear(10'000);
    DeviceWriter first(device(), options());
    DeviceWriter second(std::move(first));
    second.write(there(), 9, locked(), 3, 77, patience);
    EXPECT_TRUE(are_there(9, 3, 77));
    DeviceWriter third(device(), options());
    third = std::move(second);
    third.write(there(), 9, bytes(4, 7777), patience);
    EXPECT_TRUE(are_there(9, 4, 7777));
}

}  // namespace
}  // namespace carillon::test
