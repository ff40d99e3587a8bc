// SPDX-License-Identifier: Apache-2.0
// Handlers of every kind, blocks, and the memory a kernel runs on. Its life is in
// kernel_lifetime_test.cpp.
#include <set>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "support/ring_memory.hpp"

namespace carillon::test {

struct ByConstReference {
    CARILLON_HD int operator()(int const& value) const { return value + 1; }
};
struct ByValue {
    CARILLON_HD int operator()(int value) const { return value + 2; }
};
struct ByConstReferenceNoexcept {
    CARILLON_HD int operator()(int const& value) const noexcept { return value + 3; }
};
struct Stateful {
    int add = 4;
    CARILLON_HD int operator()(int const& value) { return value + add++; }
};
struct StatefulNoexcept {
    int add = 5;
    CARILLON_HD int operator()(int value) noexcept { return value + add++; }
};
struct Overloaded {
    using Request = double;
    using Reply = double;
    CARILLON_HD float operator()(float value) const { return value / 2; }
    CARILLON_HD double operator()(double value) const { return value / 4; }
};

struct NoDefault {
    int value;
    CARILLON_HD explicit NoDefault(int v) : value(v) {}
};
struct TakesNoDefault {
    CARILLON_HD NoDefault operator()(NoDefault const& in) const { return NoDefault(in.value * 5); }
};

// The largest request and the largest reply.
struct Sums {
    CARILLON_HD Whole operator()(Whole const& in) const {
        Whole out{};
        for (int i = 0; i < 6; ++i) out.word[i] = in.word[5 - i] + 1;
        return out;
    }
};

namespace {

class PersistentKernelTest : public KernelTest {
   protected:
    template <class Handler, class Value>
    auto answer(Value value) {
        PersistentKernel<Handler> kernel(device());
        return kernel.channel().call(value, patience);
    }
};
CARILLON_ON_EVERY_DEVICE(PersistentKernelTest);

TEST_P(PersistentKernelTest, handlerMayBeConstOrNotAndNoexceptOrNot) {
    EXPECT_EQ(answer<ByConstReference>(10), 11);
    EXPECT_EQ(answer<ByValue>(10), 12);
    EXPECT_EQ(answer<ByConstReferenceNoexcept>(10), 13);
    EXPECT_EQ(answer<Stateful>(10), 14);
    EXPECT_EQ(answer<StatefulNoexcept>(10), 15);
}

TEST_P(PersistentKernelTest, overloadedHandlerNamesItsTypes) {
    PersistentKernel<Overloaded> kernel(device());
    EXPECT_EQ(kernel.channel().call(8.0, patience), 2.0);
}

TEST_P(PersistentKernelTest, messagesNeedNoDefaultConstructor) {
    EXPECT_EQ(answer<TakesNoDefault>(NoDefault(7)).value, 35);
}

TEST_P(PersistentKernelTest, all48BytesGoThereAndBack) {
    PersistentKernel<Sums> kernel(device());
    for (std::uint64_t n = 0; n < 50; ++n) {
        Whole const in = Whole::make(n);
        Whole const out = kernel.channel().call(in, patience);
        for (int i = 0; i < 6; ++i) ASSERT_EQ(out.word[i], in.word[5 - i] + 1) << n;
    }
}

TEST_P(PersistentKernelTest, handlerStartsWithTheStateItIsGiven) {
    PersistentKernel<Stateful> kernel(device(), {}, Stateful{100});
    EXPECT_EQ(kernel.channel().call(1, patience), 101);
    EXPECT_EQ(kernel.channel().call(1, patience), 102);
}

// Catches blocks that share a channel or a handler.
TEST_P(PersistentKernelTest, everyBlockHasItsOwnChannelAndHandler) {
    constexpr unsigned blocks = 4;
    PersistentKernel<Stateful> kernel(device(), {.blocks = blocks, .capacity = 4}, Stateful{0});
    ASSERT_EQ(kernel.blocks(), blocks);
    for (unsigned block = 0; block < blocks; ++block) {
        for (int i = 0; i < static_cast<int>(block) + 3; ++i) {
            int const value = 1000 * static_cast<int>(block);
            ASSERT_EQ(kernel.channel(block).call(value, patience), value + i) << block;
        }
    }
    EXPECT_THROW((void)kernel.channel(blocks), UsageError);
}

TEST_P(PersistentKernelTest, blocksAnswerWhileOthersAreBusy) {
    PersistentKernel<ByValue> kernel(device(), {.blocks = 3, .capacity = 2});
    std::vector<Ticket> tickets;
    for (unsigned b = 0; b < 3; ++b) tickets.push_back(kernel.channel(b).submit(1, patience));
    for (unsigned b = 3; b-- > 0;) EXPECT_EQ(kernel.channel(b).wait(tickets[b], patience), 3);
}

TEST_P(PersistentKernelTest, channelSaysHowManySlotsItHas) {
    PersistentKernel<ByValue> kernel(device(), {.capacity = 16});
    EXPECT_EQ(kernel.channel().capacity(), 16U);
}

// Catches a channel that counts in 32 bits, and a kernel that ignores the memory's first number.
TEST_P(PersistentKernelTest, kernelRunsOnTheCallersMemoryThroughTheWrapOfTheTags) {
    auto const memory = std::make_shared<ChannelMemory>(device(), 2, 4, just_below_the_tags_wrap);
    PersistentKernel<ByValue> kernel(device(), {.blocks = 2, .memory = memory});
    Ticket const first = kernel.channel(1).submit(0, patience);
    EXPECT_EQ(first.number(), just_below_the_tags_wrap);
    EXPECT_EQ(kernel.channel(1).wait(first, patience), 2);
    for (int i = 0; i < 50; ++i) {
        ASSERT_EQ(kernel.channel(0).call(i, patience), i + 2);
        ASSERT_EQ(kernel.channel(1).call(i, patience), i + 2);
    }
}

TEST_P(PersistentKernelTest, sameMemoryServesOneKernelAfterAnother) {
    auto const memory = std::make_shared<ChannelMemory>(device(), 1, 4);
    for (int round = 0; round < 3; ++round) {
        PersistentKernel<ByValue> kernel(device(), {.memory = memory});
        for (int i = 0; i < 6; ++i) ASSERT_EQ(kernel.channel().call(i, patience), i + 2);
        (void)kernel.channel().submit(99, patience);  // is not there for the next one
    }
}

TEST_P(PersistentKernelTest, twoKernelsLiveSideBySide) {
    PersistentKernel<ByValue> first(device());
    PersistentKernel<Stateful> second(device());
    for (int i = 0; i < 20; ++i) {
        ASSERT_EQ(first.channel().call(i, patience), i + 2);
        ASSERT_EQ(second.channel().call(0, patience), 4 + i);
    }
    first.stop(patience);
    EXPECT_EQ(second.channel().call(0, patience), 24);
}

TEST_P(PersistentKernelTest, movedKernelGoesOnAnswering) {
    PersistentKernel<ByValue> first(device());
    PersistentKernel<ByValue> second(std::move(first));
    EXPECT_EQ(second.channel().call(1, patience), 3);
    PersistentKernel<ByValue> third(device());
    third = std::move(second);
    EXPECT_EQ(third.channel().call(2, patience), 4);
}

TEST_P(PersistentKernelTest, kernelThatIsMovedToItselfStaysAsItIs) {
    PersistentKernel<ByValue> kernel(device(), {.channels = {.express = true}});
    std::string const placement = kernel.placement().why_not;
    auto& itself = kernel;
    kernel = std::move(itself);
    EXPECT_EQ(kernel.channel().call(1, patience), 3);
    EXPECT_EQ(kernel.express().call(2, patience), 4);
    EXPECT_EQ(kernel.placement().why_not, placement);
}

TEST_P(PersistentKernelTest, blocksSayWhichSmTheyRunOn) {
    PersistentKernel<ByValue> kernel(device(), {.blocks = 2});
    unsigned const limit = static_cast<unsigned>(device().info().sm_count.value_or(1));
    EXPECT_LT(kernel.sm(0), limit);
    EXPECT_LT(kernel.sm(1), limit);
}

}  // namespace
}  // namespace carillon::test
