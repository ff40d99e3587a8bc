// SPDX-License-Identifier: Apache-2.0
// Data that a message refers to, written outside the line: invariant 6.
#include "device/bodies.hpp"
#include "device/device_fixture.hpp"

namespace carillon::test {

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

// Counts the words of each block that are wrong, and answers with a block of its own as large.
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

namespace {

class OutOfLineTest : public PlainAccessTest {};
CARILLON_ON_EVERY_DEVICE(OutOfLineTest);

constexpr std::uint64_t block_words = 96;
constexpr std::uint32_t blocks = 200;
constexpr std::uint32_t slots = 8;

// Catches a line that overtakes its data on the way to the device, or on the way back.
TEST_P(OutOfLineTest, dataAreCompleteWhenTheLineThatNamesThemIsTaken) {
    constexpr std::size_t size = slots * block_words * 8;
    Memory const there = device().allocate(size);
    Memory const back = device().allocate_host(size + 64);
    auto* const back_words = static_cast<std::uint64_t*>(back.host());
    BlocksIn in(device(), {.capacity = slots});
    BlocksOut out(device(), {.capacity = slots});
    auto* const back_device = static_cast<std::uint64_t*>(back.device());
    auto const kernel = launch(device(), 1,
                               BlockBody{in.device_handle(), out.device_handle(),
                                         static_cast<std::uint64_t const*>(there.device()),
                                         back_device, back_device + slots * block_words, blocks});

    std::uint32_t sent = 0;
    for (std::uint32_t received = 0; received < blocks; ++received) {
        for (; sent < blocks && sent < received + slots; ++sent) {
            Block const block{sent % slots * block_words, block_words, sent};
            auto* const words = static_cast<std::uint64_t*>(there.host()) + block.offset;
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

}  // namespace
}  // namespace carillon::test
