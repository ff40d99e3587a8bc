// SPDX-License-Identifier: Apache-2.0
// Data that a message refers to, written outside the line: invariant 6.
#include "device/bodies.hpp"
#include "device/device_fixture.hpp"

namespace carillon::test {
using namespace detail;

struct Block {
    std::uint64_t offset;  // words
    std::uint64_t words;
    std::uint64_t seed;
};

using BlocksIn = Ring<Block, Direction::to_device>;
using BlocksOut = Ring<Block, Direction::to_host>;

CARILLON_HD inline std::uint64_t word_of(std::uint64_t seed, std::uint64_t i) {
    return (seed + i) * 0x9e3779b97f4a7c15U;
}

// Counts the wrong words of each block, and answers with a block of its own of that size.
struct BlockBody {
    BlocksIn::DeviceEnd in;
    BlocksOut::DeviceEnd out;
    std::uint64_t const* from;
    std::uint64_t* to;
    std::uint64_t* wrong;  // in host memory; the count plus 1 at the end
    std::uint32_t count;

    CARILLON_HD void operator()(unsigned /*block*/) {
        std::uint64_t wrong_words = 0;
        for (std::uint32_t n = 0; n < count; ++n) {
            Block block{};
            if (!pop_patiently(in, block)) break;
            for (std::uint64_t i = 0; i < block.words; ++i) {
                std::uint64_t const at = block.offset + i;
                if (from[at] != word_of(block.seed, i)) ++wrong_words;
                to[at] = word_of(~block.seed, i);
            }
            if (!push_patiently(out, block, OutOfLine::written)) break;
        }
        DeviceFar const far;
        far.store_word(wrong, wrong_words + 1);
    }
};

CARILLON_HD inline std::uint64_t count_wrong(std::uint64_t const* from, Block const& block) {
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < block.words; ++i) {
        if (from[i] != word_of(block.seed, i)) ++wrong;
    }
    return wrong;
}

// Counts the words of the block that it is sent that are wrong.
struct CountWrong {
    std::uint64_t const* from;

    CARILLON_HD std::uint64_t operator()(Block const& block) const {
        return count_wrong(from, block);
    }
};
struct CountWrongByCommand : CountWrong {
    using Commands = carillon::Commands<Block>;
};

// Asks the host to look at a block and to send one back; returns the number of wrong words.
using BlockService = HostService<Block, Block>;
struct BlockHandler {
    BlockService::Caller host;
    std::uint64_t const* from;
    std::uint64_t* to;

    CARILLON_HD std::uint64_t operator()(Block const& block) {
        std::uint64_t const wrong = count_wrong(from, block);
        for (std::uint64_t i = 0; i < block.words; ++i) to[i] = word_of(block.seed, i);
        Block back{};
        auto const result = host.call(block, back, 20'000'000'000, OutOfLine::written);
        if (result != HostCallResult::answered) return ~std::uint64_t{0};
        return wrong + count_wrong(from, back);
    }
};

namespace {

class OutOfLineTest : public KernelTest {};
CARILLON_ON_EVERY_DEVICE(OutOfLineTest);

constexpr std::uint64_t block_words = 96;
constexpr std::uint32_t blocks = 200;
constexpr std::uint32_t slots = 8;

// Catches a line that overtakes its data on the way to the device, or on the way back.
TEST_P(OutOfLineTest, dataAreCompleteWhenTheLineThatNamesThemIsTaken) {
    constexpr std::size_t size = slots * block_words * 8;
    Memory const there = device().allocate(size);
    Memory const back = device().allocate_host(size + 64);
    auto* const back_words = static_cast<std::uint64_t*>(back.host_ptr());
    BlocksIn in(device(), {.capacity = slots});
    BlocksOut out(device(), {.capacity = slots});
    auto* const back_device = static_cast<std::uint64_t*>(back.device_ptr());
    auto const kernel = launch(device(), 1,
                               BlockBody{in.device_handle(), out.device_handle(),
                                         static_cast<std::uint64_t const*>(there.device_ptr()),
                                         back_device, back_device + slots * block_words, blocks});

    std::uint32_t sent = 0;
    for (std::uint32_t received = 0; received < blocks; ++received) {
        for (; sent < blocks && sent < received + slots; ++sent) {
            Block const block{sent % slots * block_words, block_words, sent};
            auto* const words = static_cast<std::uint64_t*>(there.host_ptr()) + block.offset;
            for (std::uint64_t i = 0; i < block_words; ++i) words[i] = word_of(sent, i);
            there.flush(block.offset * 8, block_words * 8);
            in.push(block, patience, OutOfLine::written);
        }
        Block const block = out.pop(patience);
        ASSERT_EQ(block.seed, received);
        for (std::uint64_t i = 0; i < block_words; ++i) {
            ASSERT_EQ(back_words[block.offset + i], word_of(~block.seed, i)) << received;
        }
    }
    ASSERT_TRUE(kernel.wait(patience));
    EXPECT_EQ(back_words[slots * block_words], 1U) << "words that the device saw wrong, plus 1";
}

// Catches a call's request that overtakes the data that it names, and a service's reply that does.
TEST_P(OutOfLineTest, dataOfCallsOfTheHostAndOfServicesAreCompleteToo) {
    constexpr std::uint32_t calls = 200;
    Memory const there = device().allocate(block_words * 8);
    Memory const back = device().allocate_host(block_words * 8);
    auto* const to_device = static_cast<std::uint64_t*>(there.host_ptr());
    auto const* const from_device = static_cast<std::uint64_t const*>(back.host_ptr());
    auto const fill = [&](std::uint64_t seed) {
        for (std::uint64_t i = 0; i < block_words; ++i) to_device[i] = word_of(seed, i);
        there.flush(0, block_words * 8);
    };
    std::uint64_t wrong = 0;
    BlockService const service(device(),
                               [&](Block const& asked) {
                                   for (std::uint64_t i = 0; i < asked.words; ++i) {
                                       if (from_device[i] != word_of(asked.seed, i)) ++wrong;
                                   }
                                   fill(~asked.seed);
                                   return Block{0, asked.words, ~asked.seed};
                               },
                               {.replies = OutOfLine::written});
    PersistentKernel<BlockHandler> kernel(
        device(), {},
        {service.device_handle(), static_cast<std::uint64_t const*>(there.device_ptr()),
         static_cast<std::uint64_t*>(back.device_ptr())});
    for (std::uint64_t seed = 0; seed < calls; ++seed) {
        fill(seed);
        ASSERT_EQ(kernel.channel().call({0, block_words, seed}, patience, OutOfLine::written), 0U);
    }
    service.flush(patience);
    EXPECT_EQ(wrong, 0U);
}

// A call through a pool and a call by a command may name data, too.
TEST_P(OutOfLineTest, everyWayToCallAKernelMayNameData) {
    Memory const there = device().allocate(block_words * 8);
    auto* const words = static_cast<std::uint64_t*>(there.host_ptr());
    CountWrong const handler{static_cast<std::uint64_t const*>(there.device_ptr())};
    PersistentKernel<CountWrong, Pool> pooled(device(), {}, handler);
    PersistentKernel<CountWrongByCommand> commanded(device(), {}, {handler});
    auto client = pooled.client();
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        for (std::uint64_t i = 0; i < block_words; ++i) words[i] = word_of(seed, i);
        there.flush(0, block_words * 8);
        Block const block{0, block_words, seed};
        ASSERT_EQ(client.call(block, patience, OutOfLine::written), 0U);
        ASSERT_EQ(commanded.channel().call(block, patience, OutOfLine::written), 0U);
    }
}

}  // namespace
}  // namespace carillon::test
