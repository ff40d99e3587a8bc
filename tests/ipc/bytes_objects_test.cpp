// SPDX-License-Identifier: Apache-2.0
// Mailboxes and chunk rings by bytes, with ends by bytes and ends of types at the other side. P is
// the owner, in this process; C is its client, in this process too, through the socket.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <thread>
#include <vector>

#include "carillon/bytes.hpp"
#include "carillon/connection.hpp"
#include "carillon/shared_objects.hpp"
#include "ipc/fixtures.hpp"
#include "support/eventually.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;
using Value = std::vector<std::byte>;
using MailboxTo = Mailbox<Bytes, Direction::to_device>;
using MailboxFrom = Mailbox<Bytes, Direction::to_host>;
using ByteChunks = ChunkRing<Bytes>;

// All bytes are the same: a value that is of two versions shows.
Value value_of(std::size_t size, unsigned seed) { return Value(size, std::byte(seed)); }

class ValuesTest : public testing::TestWithParam<std::size_t> {
   protected:
    [[nodiscard]] static Value value(unsigned seed) { return value_of(GetParam(), seed); }
    Device device_ = Device::open("emulated");
};
INSTANTIATE_TEST_SUITE_P(, ValuesTest, testing::Values(1U, 31U, 32U, 33U, 100U, 4096U),
                         testing::PrintToStringParamName());

TEST_P(ValuesTest, latestIsReadOnTheDevice) {
    MailboxTo limits(device_, value(1), {.capacity = 2});
    EXPECT_EQ(limits.value_bytes(), GetParam());
    auto one = limits.device_handle();
    auto other = limits.device_handle();  // a reader of its own
    Value seen = value(0);
    ASSERT_TRUE(one.refresh(seen));
    EXPECT_EQ(seen, value(1));
    EXPECT_FALSE(one.refresh(seen));
    for (unsigned i = 2; i < 12; ++i) {
        limits.set(value(i));
        ASSERT_TRUE(one.refresh(seen));
        EXPECT_EQ(seen, value(i));
    }
    ASSERT_TRUE(other.refresh(seen));
    EXPECT_EQ(seen, value(11));
}

TEST_P(ValuesTest, latestIsReadOnTheHost) {
    MailboxFrom status(device_, value(1));
    auto kernel = status.device_handle();
    Value seen = value(0);
    ASSERT_TRUE(status.refresh(seen));
    EXPECT_EQ(seen, value(1));
    for (unsigned i = 2; i < 12; ++i) {
        kernel.set(value(i));
        kernel.set(value(i + 100));
        ASSERT_TRUE(status.refresh(seen));
        EXPECT_EQ(seen, value(i + 100));
        EXPECT_FALSE(status.refresh(seen));
    }
}

TEST_P(ValuesTest, noneIsOfTwoVersions) {
    MailboxTo limits(device_, value(0), {.capacity = 2});
    auto reader = limits.device_handle();
    std::jthread const writer([&](std::stop_token const& stop) {
        for (unsigned i = 0; !stop.stop_requested(); ++i) limits.set(value(i));
    });
    Value seen = value(0);
    for (unsigned found = 0; found < 40;) {
        if (!reader.refresh(seen)) continue;
        ++found;
        ASSERT_EQ(std::count(seen.begin(), seen.end(), seen[0]), GetParam());
    }
}

struct Limits {
    std::uint64_t most[9];  // three lines
};
struct Taken {
    std::uint32_t chunks;
    std::uint16_t heap;
};

template <class T>
std::span<std::byte const> bytes_in(T const& value) {
    return std::as_bytes(std::span(&value, 1));
}
template <class T>
std::span<std::byte> room_in(T& value) {
    return std::as_writable_bytes(std::span(&value, 1));
}

class BytesObjectsTest : public WithServer<> {
   protected:
    Connection owner_ = connect();
};

TEST_F(BytesObjectsTest, mailboxesOfAnotherProcess) {
    // 1. P shares mailboxes of types. 2. C sets and reads bytes.
    SharedMailbox<Limits> const limits(device());
    SharedMailbox<Taken, Direction::to_host> const taken(device(), Taken{7, 1});
    auto reads = limits.device_handle();
    auto sets = taken.device_handle();
    server().add("limits", limits);
    server().add("taken", taken);
    auto to = owner_.mailbox<Bytes>("limits", {sizeof(Limits)});
    auto from = owner_.mailbox<Bytes, Direction::to_host>("taken", {sizeof(Taken)});
    for (std::uint32_t i = 0; i < 10; ++i) {
        Limits set{};
        set.most[8] = i;
        to.set(bytes_in(set));
        Limits seen{};
        ASSERT_TRUE(eventually([&] { return reads.refresh(seen) && seen.most[8] == i; }));
        Taken now{};
        ASSERT_TRUE(from.refresh(room_in(now)));
        EXPECT_EQ(now.chunks, i + 7);
        sets.set({i + 8, 0});
    }
    CARILLON_EXPECT_ERROR((void)to.device_handle(), UsageError,
                          "only the owner's process has the device's end");
    CARILLON_EXPECT_ERROR((void)(owner_.mailbox<Bytes, Direction::to_host>("taken", {12})),
                          RefusedError, "of 8 bytes, but the client's is bytes of 12");
    CARILLON_EXPECT_ERROR((void)owner_.mailbox<Bytes>("taken", {8}), RefusedError,
                          "\"taken\" is a mailbox to the host, not a mailbox");
}

TEST_F(BytesObjectsTest, chunkRingsOfAnotherProcess) {
    SharedChunkRing<Taken> const heaps(device(), {.chunk_bytes = 1000, .chunks = 4});
    SharedChunkRing<> const bare(device(), {.chunk_bytes = 8, .chunks = 2});
    auto reads = heaps.device_handle();
    server().add("heaps", heaps);
    server().add("bare", bare);
    ByteChunks ring = owner_.chunk_ring<Bytes>("heaps", {sizeof(Taken)});
    EXPECT_EQ(ring.chunks(), 4U);
    EXPECT_EQ(ring.chunk_bytes(), 1000U);
    for (std::uint16_t i = 0; i < 20; ++i) {
        Chunk<Bytes> chunk = ring.claim(patience);
        chunk.fill(0, value_of(900, i));
        chunk.commit(900, bytes_in(Taken{1, i}));
        ChunkView<Taken> seen{};
        ASSERT_TRUE(eventually([&] { return reads.try_take(seen); }));
        EXPECT_EQ(seen.size, 900U);
        EXPECT_EQ(seen.meta.heap, i);
        EXPECT_EQ(std::count(seen.data, seen.data + seen.size, std::byte(i)), 900);
        EXPECT_TRUE(reads.release(seen.sequence));
    }
    CARILLON_EXPECT_ERROR((void)ring.device_handle(), UsageError,
                          "only the owner's process has the device's end");
    CARILLON_EXPECT_ERROR((void)owner_.chunk_ring<Bytes>("heaps", {16}), RefusedError,
                          "the client's is bytes");
    EXPECT_NO_THROW(owner_.chunk_ring<Bytes>("bare").claim(patience).commit(8));
}

struct alignas(16) Apart {
    std::uint64_t words[2];
};

TEST_F(BytesObjectsTest, metadataThatLieElsewhereAreRefused) {
    SharedChunkRing<Apart> const chunks(device(), {.chunk_bytes = 64, .chunks = 2});
    server().add("chunks", chunks);
    CARILLON_EXPECT_ERROR((void)owner_.chunk_ring<Bytes>("chunks", {16}), RefusedError,
                          "with an alignment of 16 bytes");
}

TEST(BytesChunksTest, areReadAndReleasedOnTheDevice) {
    ByteChunks ring(Device::open("emulated"), 3, {.chunk_bytes = 100, .chunks = 4});
    auto kernel = ring.device_handle();
    EXPECT_FALSE(kernel.try_take());
    for (unsigned i = 0; i < 20; ++i) {
        (void)ring.claim(patience);  // given up
        Chunk<Bytes> chunk = ring.claim(patience);
        std::fill(chunk.bytes().begin(), chunk.bytes().end(), std::byte(i));
        chunk.commit(i, value_of(3, 50 + i));
        auto seen = kernel.try_take();
        if (!seen) seen = kernel.try_take();  // behind the one that was given up
        ASSERT_TRUE(seen);
        EXPECT_EQ(seen->size, i);
        EXPECT_EQ(std::count(seen->data, seen->data + i, std::byte(i)), i);
        EXPECT_EQ(seen->meta[2], std::byte(50 + i));
        EXPECT_EQ(seen->meta[3], std::byte(0));
        EXPECT_TRUE(kernel.release(seen->sequence));
        EXPECT_FALSE(kernel.release(seen->sequence));
    }
}

TEST(BytesChunksTest, bothEndsAreUsedAtOnce) {
    ByteChunks ring(Device::open("emulated"), 0, {.chunk_bytes = 64, .chunks = 2});
    std::jthread const kernel([end = ring.device_handle()](std::stop_token const& stop) mutable {
        while (!stop.stop_requested()) {
            if (auto const chunk = end.try_take()) {
                (void)end.release(chunk->sequence);
            } else {
                std::this_thread::yield();
            }
        }
    });
    for (unsigned i = 0; i < 1000; ++i) ring.claim(patience).commit(64);
}

TEST(BytesChunksTest, whatMakesNoSenseIsRefused) {
    Device const device = Device::open("emulated");
    CARILLON_EXPECT_ERROR(ByteChunks(device, 41), UsageError,
                          "a meta of 41 bytes is not possible: it has 0 to 40");
    CARILLON_EXPECT_ERROR(ByteChunks(device, 4, {.chunks = 3}), UsageError, "3");
    ByteChunks ring(device, 4, {.chunk_bytes = 10, .chunks = 2});
    (void)ring.device_handle();
    CARILLON_EXPECT_ERROR((void)ring.device_handle(), UsageError, "");
    Chunk<Bytes> chunk = ring.claim(1s);
    Chunk<Bytes> const other = ring.claim(1s);
    EXPECT_FALSE(ring.try_claim());
    CARILLON_EXPECT_ERROR((void)ring.claim(1ms), TimeoutError, "no chunk was released");
    CARILLON_EXPECT_ERROR(chunk.commit(11, value_of(4, 0)), UsageError,
                          "exceed the chunk of 10 bytes");
    CARILLON_EXPECT_ERROR(chunk.commit(10, value_of(3, 0)), UsageError,
                          "a meta of 3 bytes was given, but the other side's has 4");
    chunk.commit(10, value_of(4, 0));
    CARILLON_EXPECT_ERROR(chunk.commit(10, value_of(4, 0)), UsageError, "was committed or");
}

// The ends of the emulated device, and the metadata of a chunk.
TEST(BytesEndsTest, bytesAtANullPointerAreRefused) {
    Device const device = Device::open("emulated");
    std::span<std::byte> const null(static_cast<std::byte*>(nullptr), 4);
    Ring<Bytes, Direction::to_device> to(device, 4);
    Ring<Bytes, Direction::to_host> from(device, 4);
    MailboxTo limits(device, Value(4));
    MailboxFrom status(device, Value(4));
    ByteChunks ring(device, 4, {.chunk_bytes = 10, .chunks = 2});
    Chunk<Bytes> chunk = ring.claim(1s);
    auto takes = to.device_handle();
    auto sends = from.device_handle();
    auto reads = limits.device_handle();
    auto sets = status.device_handle();
    char const* const says = ": 4 bytes requested at a null pointer";
    CARILLON_EXPECT_ERROR((void)takes.try_pop(null), UsageError, says);
    CARILLON_EXPECT_ERROR((void)sends.try_push(null), UsageError, says);
    CARILLON_EXPECT_ERROR((void)reads.refresh(null), UsageError, says);
    CARILLON_EXPECT_ERROR(sets.set(null), UsageError, says);
    CARILLON_EXPECT_ERROR(chunk.commit(10, null), UsageError, says);
    chunk.commit(10, value_of(4, 0));
}

TEST(MailboxOfBytesTest, whatMakesNoSenseIsRefused) {
    Device const device = Device::open("emulated");
    CARILLON_EXPECT_ERROR(MailboxFrom(device, {}), UsageError,
                          "a value of 0 bytes is not possible: it has 1 to 4096");
    CARILLON_EXPECT_ERROR(MailboxFrom(device, Value(4097)), UsageError, "4097 bytes");
    CARILLON_EXPECT_ERROR(MailboxFrom(device, Value(4), {.capacity = 3}), UsageError, "3");
    MailboxTo limits(device, Value(4));
    MailboxFrom status(device, Value(4));
    Value five(5);
    CARILLON_EXPECT_ERROR(limits.set(five), UsageError,
                          "a value of 5 bytes was given, but the other side's has 4");
    CARILLON_EXPECT_ERROR((void)status.refresh(five), UsageError, "5 bytes");
    auto reads = limits.device_handle();
    auto sets = status.device_handle();
    CARILLON_EXPECT_ERROR((void)status.device_handle(), UsageError, "");
    CARILLON_EXPECT_ERROR(sets.set(five), UsageError, "5 bytes");
    CARILLON_EXPECT_ERROR((void)reads.refresh(five), UsageError, "5 bytes");
}

}  // namespace
}  // namespace carillon::test
