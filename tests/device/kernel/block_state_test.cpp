// SPDX-License-Identifier: Apache-2.0
// The state that all threads of a block share: one, where the handler's members are copies.
#include "carillon/block.hpp"
#include "device/device_fixture.hpp"

namespace carillon::test {

struct Sample {
    std::uint32_t value;
};
struct Total {
    std::uint32_t total;
    std::uint32_t calls;
};

// The shared state begins with the initial values of its members, as a handler does.
struct Totals {
    std::uint32_t total = 100;
    std::uint32_t calls = 0;
    std::uint32_t of_thread[128]{};
};

// Every thread adds, and the first thread replies.
template <unsigned thread_count>
struct Adder {
    static constexpr unsigned threads = thread_count;
    using Shared = Totals;

    CARILLON_HD Total operator()(Sample const& sample, Shared& shared) const {
        shared.of_thread[block::thread_rank()] = sample.value;
        block::sync();
        if (block::thread_rank() == 0) {
            for (unsigned i = 0; i < block::size(); ++i) shared.total += shared.of_thread[i];
            ++shared.calls;
        }
        block::sync();
        return {shared.total, shared.calls};
    }
};

struct AddCommand {
    std::uint32_t value;
};
struct ClearSum {};
struct AddingDesk {
    static constexpr unsigned threads = 32;
    using Commands = carillon::Commands<AddCommand, ClearSum>;
    using Shared = Totals;

    CARILLON_HD Total operator()(AddCommand const& command, Shared& shared) const {
        if (block::thread_rank() == 0) shared.total += command.value;
        block::sync();
        return {shared.total, 0};
    }
    CARILLON_HD void operator()(ClearSum const& /*command*/, Shared& shared) const {
        if (block::thread_rank() == 0) shared = {};
    }
};

// Counts in idle(); the requests return the count.
struct IdleTotals {
    static constexpr unsigned threads = 32;
    using Shared = Totals;

    CARILLON_HD Total operator()(Sample const& /*sample*/, Shared& shared) const {
        return {shared.total, shared.calls};
    }
    CARILLON_HD void idle(Shared& shared) const {
        if (block::thread_rank() == 0) ++shared.calls;
        block::sync();
    }
};

struct LongSample {
    std::uint32_t value[100];
};
struct LongAdder {
    using Shared = Totals;
    CARILLON_HD LongSample operator()(LongSample const& sample, Shared& shared) const {
        shared.total += sample.value[99];
        return {{shared.total}};
    }
};

namespace {

class BlockStateTest : public KernelTest {
   protected:
    // The threads of a block that add.
    [[nodiscard]] unsigned size(unsigned threads) const {
        return device().traits().one_thread_a_block ? 1 : threads;
    }
};
CARILLON_ON_EVERY_DEVICE(BlockStateTest);

// Catches a state for each thread, and one without its first value.
TEST_P(BlockStateTest, threadsOfABlockHaveOneState) {
    PersistentKernel<Adder<128>> kernel(device());
    for (unsigned call = 1; call <= 3; ++call) {
        Total const reply = kernel.channel().call({1}, patience);
        EXPECT_EQ(reply.total, 100 + call * size(128));
        EXPECT_EQ(reply.calls, call);
    }
}

TEST_P(BlockStateTest, oneThreadHasOneToo) {
    PersistentKernel<Adder<1>> kernel(device());
    (void)kernel.channel().call({1}, patience);
    EXPECT_EQ(kernel.channel().call({2}, patience).total, 103U);
}

TEST_P(BlockStateTest, everyBlockHasItsOwn) {
    PersistentKernel<Adder<64>> kernel(device(), {.blocks = 2});
    (void)kernel.channel(0).call({1}, patience);
    EXPECT_EQ(kernel.channel(1).call({2}, patience).total, 100 + 2 * size(64));
    EXPECT_EQ(kernel.channel(1).call({0}, patience).calls, 2U);
}

// Catches a state that the kernel before has left.
TEST_P(BlockStateTest, nextKernelBeginsAnew) {
    for (int i = 0; i < 2; ++i) {
        PersistentKernel<Adder<64>> kernel(device());
        EXPECT_EQ(kernel.channel().call({0}, patience).calls, 1U);
    }
}

TEST_P(BlockStateTest, commandsShareIt) {
    PersistentKernel<AddingDesk> kernel(device());
    (void)kernel.channel().call(AddCommand{5}, patience);
    EXPECT_EQ(kernel.channel().call(AddCommand{6}, patience).total, 111U);
    (void)kernel.channel().call(ClearSum{}, patience);
    EXPECT_EQ(kernel.channel().call(AddCommand{1}, patience).total, 101U);
}

TEST_P(BlockStateTest, idleHasIt) {
    PersistentKernel<IdleTotals> kernel(device());
    EXPECT_TRUE(eventually([&] { return kernel.channel().call(Sample{}, patience).calls > 2; }));
}

TEST_P(BlockStateTest, handlerOfLongMessagesHasIt) {
    PersistentKernel<LongAdder> kernel(device());
    LongSample sample{};
    sample.value[99] = 4;
    (void)kernel.channel().call(sample, patience);
    EXPECT_EQ(kernel.channel().call(sample, patience).value[0], 108U);
}

TEST_P(BlockStateTest, blocksOfAPoolHaveIt) {
    PersistentKernel<Adder<64>, Pool> kernel(device(), {.blocks = 1});
    auto client = kernel.client();
    (void)client.call({1}, patience);
    EXPECT_EQ(client.call({1}, patience).total, 100 + 2 * size(64));
}

// The lanes would write it at the same time.
TEST_P(BlockStateTest, lanesThatServeApartHaveNone) {
    using Kernel = PersistentKernel<Adder<1>, Pool>;
    CARILLON_EXPECT_ERROR(Kernel(device(), {.blocks = 1, .pool = {.stripe = 32}}), UsageError,
                          "a handler with Shared needs a stripe of 1");
}

}  // namespace
}  // namespace carillon::test
