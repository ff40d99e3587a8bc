// SPDX-License-Identifier: Apache-2.0
// Chunks that the CPU fills and a block of threads reads.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "carillon/block.hpp"
#include "device/bodies.hpp"
#include "device/device_fixture.hpp"

namespace carillon::test {
using namespace detail;

struct ChunkMeta {
    std::uint64_t number;
    std::uint64_t seed;
    std::uint64_t last;  // 1 for the last chunk
};

struct ChunkSum {
    std::uint64_t number;
    std::uint64_t bytes;
    std::uint64_t sum;
};

using SumsOut = Ring<ChunkSum, Direction::to_host>;

CARILLON_HD inline std::byte byte_of(std::uint64_t seed, std::size_t i) {
    return static_cast<std::byte>((seed * 0x9e3779b97f4a7c15U + i * 0x2545f4914f6cdd1dU) >> 56);
}

inline constexpr unsigned sum_threads = 128;

struct PartialSums {
    std::uint64_t of_thread[sum_threads];
};

// A block of threads sums the bytes of every chunk, and its first thread sends the sum back.
struct SumChunksBody {
    BlockChunkReader<ChunkMeta> chunks;
    SumsOut::DeviceEnd sums;
    std::uint32_t hold;  // chunks that are taken before the first of them is released

    CARILLON_HD void operator()(unsigned /*block*/) {
        DeviceClock const clock;
        Sequence held = 0;
        // Every thread counts the same polls: all give up together.
        for (std::uint32_t polls = 0; polls < 1U << 26;) {
            ChunkView<ChunkMeta> chunk{};
            if (!chunks.try_take(chunk)) {
                clock.idle(++polls);
                if (polls % 1024 == 0 && held != 0) {  // the host may wait for one
                    chunks.release(held);
                    held = 0;
                }
                continue;
            }
            polls = 0;
            send({chunk.meta.number, chunk.size, sum(chunk)});
            held = chunk.sequence;
            if (chunk.meta.last != 0 || chunk.sequence % hold == 0) {
                chunks.release(held);
                held = 0;
            }
            if (chunk.meta.last != 0) return;
        }
    }

   private:
    CARILLON_HD std::uint64_t sum(ChunkView<ChunkMeta> const& chunk) {
        std::uint64_t mine = 0;
        for (std::size_t i = block::thread_rank(); i < chunk.size; i += block::size()) {
            mine += static_cast<std::uint64_t>(chunk.data[i]) * (i + 1);
        }
        auto& partial = block::shared<PartialSums, struct Sums>();
        block::sync();  // the sums of the chunk before have been read
        partial.of_thread[block::thread_rank()] = mine;
        block::sync();
        std::uint64_t total = 0;
        for (unsigned i = 0; i < block::size(); ++i) total += partial.of_thread[i];
        return total;
    }
    CARILLON_HD void send(ChunkSum const& result) {
        if (block::thread_rank() == 0) (void)push_patiently(sums, result);
    }
};

// One thread takes all the chunks there are, and then releases the last of them.
struct HoldAllBody {
    DeviceChunkReader<ChunkMeta> chunks;
    std::uint64_t* taken;       // in host memory
    std::uint64_t const* gate;  // in device memory
    std::uint32_t count;

    CARILLON_HD void operator()(unsigned /*block*/) {
        Sequence last = 0;
        BodyPatience waiting;
        for (std::uint32_t i = 0; i < count;) {
            ChunkView<ChunkMeta> chunk{};
            if (chunks.try_take(chunk)) {
                last = chunk.sequence;
                ++i;
            } else if (!waiting.more()) {
                return;
            }
        }
        DeviceFar().store_word(taken, last);
        wait_at(gate, 1);
        chunks.release(last);
    }
};

namespace {

std::uint64_t sum_of(std::uint64_t seed, std::size_t size) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
        sum += static_cast<std::uint64_t>(byte_of(seed, i)) * (i + 1);
    }
    return sum;
}

std::vector<std::byte> bytes_of(std::uint64_t seed, std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = byte_of(seed, i);
    return bytes;
}

class ChunkRingDeviceTest : public KernelTest {
   protected:
    [[nodiscard]] RunningKernel start(ChunkRing<ChunkMeta> const& ring, SumsOut const& sums,
                                      std::uint32_t hold = 1) const {
        return launch(device(), 1, SumChunksBody{ring.block_handle(), sums.device_handle(), hold},
                      sum_threads);
    }
    static void expect_sum(SumsOut& sums, std::uint64_t number, std::size_t size) {
        ChunkSum const sum = sums.pop(patience);
        ASSERT_EQ(sum.number, number);
        EXPECT_EQ(sum.bytes, size);
        EXPECT_EQ(sum.sum, sum_of(number, size)) << "chunk " << number;
    }
    // Sends `count` chunks of all sizes through the ring, and checks their sums.
    void expect_stream(ChunkRing<ChunkMeta> ring, std::uint64_t count, std::uint32_t hold = 1) {
        SumsOut sums(device(), {.capacity = 128});
        auto const kernel = start(ring, sums, hold);
        for (std::uint64_t n = 0; n < count; ++n) {
            Chunk<ChunkMeta> chunk = ring.claim(patience);
            std::size_t const size = n * 131 % (ring.chunk_bytes() + 1);
            // The pieces do not end at lines.
            std::vector<std::byte> const bytes = bytes_of(n, size);
            std::size_t const half = size / 2;
            chunk.fill(0, std::span(bytes).first(half));
            chunk.fill(half, std::span(bytes).subspan(half));
            chunk.commit(size, {n, n, n + 1 == count ? 1U : 0U});
        }
        for (std::uint64_t n = 0; n < count; ++n) {
            expect_sum(sums, n, n * 131 % (ring.chunk_bytes() + 1));
        }
        EXPECT_TRUE(kernel.wait(patience));
    }
};
CARILLON_ON_EVERY_DEVICE(ChunkRingDeviceTest);
CARILLON_ON_HOST_MEMORY(ChunkRingDeviceTest);

TEST_P(ChunkRingDeviceTest, everyByteOfManyLapsComesThrough) {
    expect_stream(ChunkRing<ChunkMeta>(device(), {.chunk_bytes = 4096, .chunks = 4}), 100);
}

TEST_P(ChunkRingDeviceTest, oddSizesTheSmallestRingAndTheTagsWrap) {
    expect_stream(ChunkRing<ChunkMeta>(device(), {.chunk_bytes = 1001,
                                                  .chunks = 2,
                                                  .for_tests = {.first = (Sequence{1} << 32) - 3}}),
                  60);
}

TEST_P(ChunkRingDeviceTest, chunksReleasedSeveralAtATime) {
    expect_stream(ChunkRing<ChunkMeta>(device(), {.chunk_bytes = 512, .chunks = 8}), 100, 3);
}

TEST_P(ChunkRingDeviceTest, chunksInAnArena) {
    Arena const arena(device(), 1 << 20);
    ArenaPiece const before = arena.allocate(100);
    {
        ChunkRing<ChunkMeta> ring(arena, {.chunk_bytes = 2048, .chunks = 4});
        EXPECT_GE(arena.used(), 4U * 2048U);
        expect_stream(std::move(ring), 60);
    }
    EXPECT_LT(arena.used(), 2048U);
}

// A receiver that assembles several chunks at once, and loses some.
TEST_P(ChunkRingDeviceTest, committedInAnyOrderAndDroppedTheyComeInOrder) {
    ChunkRing<ChunkMeta> ring(device(), {.chunk_bytes = 1024, .chunks = 4});
    SumsOut sums(device(), {.capacity = 128});
    auto const kernel = start(ring, sums);
    std::uint64_t number = 0;
    for (int lap = 0; lap < 20; ++lap) {
        std::vector<Chunk<ChunkMeta>> claimed;
        for (int i = 0; i < 4; ++i) claimed.push_back(ring.claim(patience));
        std::uint64_t const second = number;
        for (int i : {3, 1}) {
            std::uint64_t const n = second + static_cast<std::uint64_t>(i / 2);
            std::vector<std::byte> const bytes = bytes_of(n, 1024);
            std::copy(bytes.begin(), bytes.end(),
                      claimed[static_cast<std::size_t>(i)].bytes().data());
            claimed[static_cast<std::size_t>(i)].commit(1024, {n, n, 0});
        }
        number += 2;
    }  // those not committed are dropped
    Chunk<ChunkMeta> end = ring.claim(patience);
    end.commit(0, {number, number, 1});
    for (std::uint64_t n = 0; n < number; ++n) expect_sum(sums, n, 1024);
    expect_sum(sums, number, 0);
    EXPECT_TRUE(kernel.wait(patience));
}

// Two threads fill and commit chunks that a third has claimed.
TEST_P(ChunkRingDeviceTest, twoThreadsCommitAtOnce) {
    constexpr std::uint64_t pairs = 50;
    ChunkRing<ChunkMeta> ring(device(), {.chunk_bytes = 640, .chunks = 4});
    SumsOut sums(device(), {.capacity = 128});
    auto const kernel = start(ring, sums);
    auto const fill = [](Chunk<ChunkMeta> chunk, std::uint64_t n) {
        chunk.fill(0, bytes_of(n, 640));
        chunk.commit(640, {n, n, n + 1 == 2 * pairs ? 1U : 0U});
    };
    for (std::uint64_t n = 0; n < 2 * pairs; n += 2) {
        Chunk<ChunkMeta> first = ring.claim(patience);
        Chunk<ChunkMeta> second = ring.claim(patience);
        std::thread other(fill, std::move(first), n);
        fill(std::move(second), n + 1);
        other.join();
    }
    for (std::uint64_t n = 0; n < 2 * pairs; ++n) expect_sum(sums, n, 640);
    EXPECT_TRUE(kernel.wait(patience));
}

// Two threads fill one chunk: the one that does not commit it flushes its part.
TEST_P(ChunkRingDeviceTest, twoThreadsFillOneChunk) {
    ChunkRing<ChunkMeta> ring(device(), {.chunk_bytes = 2048, .chunks = 2});
    SumsOut sums(device(), {.capacity = 128});
    auto const kernel = start(ring, sums);
    for (std::uint64_t n = 0; n < 40; ++n) {
        Chunk<ChunkMeta> chunk = ring.claim(patience);
        std::vector<std::byte> const bytes = bytes_of(n, 2048);
        std::thread other([&] {
            chunk.fill(1024, std::span(bytes).subspan(1024));
            chunk.flush();
        });
        chunk.fill(0, std::span(bytes).first(1024));
        other.join();
        chunk.commit(2048, {n, n, n == 39 ? 1U : 0U});
    }
    for (std::uint64_t n = 0; n < 40; ++n) expect_sum(sums, n, 2048);
    EXPECT_TRUE(kernel.wait(patience));
}

// Catches a chunk that is free again while the kernel has it.
TEST_P(ChunkRingDeviceTest, chunksThatTheKernelHoldsAreNotClaimed) {
    ChunkRing<ChunkMeta> ring(device(), {.chunk_bytes = 64, .chunks = 4});
    Memory const words = device().allocate_host(64);
    Memory const gate = device().allocate(64);
    auto* const taken = static_cast<std::uint64_t*>(words.host_ptr());
    auto const kernel =
        launch(device(), 1,
               HoldAllBody{ring.device_handle(), static_cast<std::uint64_t*>(words.device_ptr()),
                           static_cast<std::uint64_t const*>(gate.device_ptr()), 4});
    for (std::uint64_t n = 0; n < 4; ++n) ring.claim(patience).commit(0, {n, n, 0});
    ASSERT_TRUE(eventually([&] { return HostCached().load_word(taken) == 4; }));
    EXPECT_FALSE(ring.try_claim().has_value());
    EXPECT_THROW((void)ring.claim(1ms), TimeoutError);
    device().access(gate).store_word(static_cast<std::uint64_t*>(gate.host_ptr()), 1);
    device().access(gate).commit(gate.host_ptr(), 8);
    for (int i = 0; i < 4; ++i) (void)ring.claim(patience);  // each given up at once
    EXPECT_TRUE(kernel.wait(patience));
}

TEST_P(ChunkRingDeviceTest, refusesWhatMakesNoSenseAndTheChunkIsUsableStill) {
    ChunkRing<ChunkMeta> ring(device(), {.chunk_bytes = 100, .chunks = 2});
    Chunk<ChunkMeta> chunk = ring.claim(patience);
    std::vector<std::byte> const bytes(101);
    EXPECT_EQ(chunk.bytes().size(), 100U);
    CARILLON_EXPECT_ERROR(chunk.commit(101, {}), UsageError,
                          "Chunk::commit: 101 bytes from byte 0 on exceed the chunk of 100 bytes");
    CARILLON_EXPECT_ERROR(chunk.fill(0, bytes), UsageError, "Chunk::fill: 101 bytes");
    CARILLON_EXPECT_ERROR(chunk.fill(101, {}), UsageError, "Chunk::fill: 0 bytes from byte 101");
    chunk.fill(100, {});
    chunk.commit(100, {});
    CARILLON_EXPECT_ERROR(chunk.commit(0, {}), UsageError,
                          "Chunk::commit: the chunk was committed or");
    CARILLON_EXPECT_ERROR((void)chunk.bytes(), UsageError, "Chunk::bytes");
    CARILLON_EXPECT_ERROR(chunk.fill(0, {}), UsageError, "Chunk::fill");
    CARILLON_EXPECT_ERROR(ChunkRing<>(device(), {.chunk_bytes = 0}), UsageError, "0 bytes");
    CARILLON_EXPECT_ERROR(ChunkRing<>(device(), {.chunk_bytes = std::size_t{1} << 32}), UsageError,
                          "4294967296 bytes");
    CARILLON_EXPECT_ERROR(ChunkRing<>(device(), {.chunks = 3}), UsageError, "capacity of 3");
    CARILLON_EXPECT_ERROR(ChunkRing<>(device(), {.for_tests = {.first = 0}}), UsageError,
                          "ChunkRing: a first number of 0 is not");
    CARILLON_EXPECT_ERROR(ChunkRing<>(Arena(device(), 4096), {.chunk_bytes = 65536}),
                          OutOfMemoryError, "ChunkRing: ");
}

// Catches memory that goes with the ring while a chunk of it is being filled.
TEST_P(ChunkRingDeviceTest, chunkOutlivesItsRing) {
    std::optional<Chunk<ChunkMeta>> chunk;
    {
        ChunkRing<ChunkMeta> ring(device(), {.chunk_bytes = 4096, .chunks = 2});
        chunk = ring.try_claim();
    }
    ASSERT_TRUE(chunk.has_value());
    chunk->fill(0, bytes_of(1, 4096));
    chunk.reset();
}

}  // namespace
}  // namespace carillon::test
