// SPDX-License-Identifier: Apache-2.0
// Kernels whose requests and replies are of any size up to 1 KiB.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "device/device_fixture.hpp"
#include "support/ring_memory.hpp"
#include "support/sanitized.hpp"
#include "support/sized.hpp"

namespace carillon::test {

// The reply to number n is number ~n; to one that came damaged it is number 0.
template <std::size_t asked, std::size_t answered = asked>
struct SizedHandler {
    CARILLON_HD SizedWords<answered> operator()(SizedWords<asked> const& request) const {
        return SizedWords<answered>::make(request.whole() ? ~request.number() : 0);
    }
};
template <std::size_t size>
struct SizedWarpHandler {
    static constexpr unsigned threads = 32;
    CARILLON_HD SizedWords<size> operator()(SizedWords<size> const& request) const {
        return SizedHandler<size>()(request);
    }
};
// Sizes that are no words.
template <std::size_t size>
struct FlipsBytes {
    CARILLON_HD SizedBytes<size> operator()(SizedBytes<size> const& request) const {
        SizedBytes<size> reply;
        for (std::size_t i = 0; i < size; ++i) {
            reply.byte[i] = static_cast<unsigned char>(~request.byte[size - 1 - i]);
        }
        return reply;
    }
};
struct alignas(64) WideWords {
    SizedWords<128> words;
};
struct WideHandler {
    CARILLON_HD WideWords operator()(WideWords const& request) const {
        bool const aligned = reinterpret_cast<std::uintptr_t>(&request) % 64 == 0;
        return {SizedHandler<128>()(aligned ? request.words : SizedWords<128>::make(0))};
    }
};

namespace {

class SizesTest : public KernelTest {
   protected:
    // Alone, and as many at a time as there are tickets.
    template <std::size_t asked, std::size_t answered = asked, class Client>
    static void expect_answers(Client& client, std::uint64_t first = 0,
                               std::uint64_t count = repeated(200)) {
        using Request = SizedWords<asked>;
        auto const expect_reply = [](auto const& reply, std::uint64_t number) {
            ASSERT_EQ(reply.number(), ~number) << asked << ", " << answered;
            ASSERT_TRUE(reply.whole()) << asked << ", " << answered << ", number " << number;
        };
        for (std::uint64_t i = first; i < first + count; i += 4) {
            expect_reply(client.call(Request::make(i), patience), i);
            std::vector<Ticket> tickets;
            for (std::uint64_t n = 1; n < 4; ++n) {
                tickets.push_back(client.submit(Request::make(i + n), patience));
            }
            for (std::uint64_t const n : {2U, 1U, 3U}) {
                expect_reply(client.wait(tickets.at(n - 1), patience), i + n);
            }
        }
    }

    template <std::size_t asked, std::size_t answered = asked>
    void expect_channels(unsigned blocks) {
        auto const memory = std::make_shared<ChannelMemory>(
            device(), blocks,
            ChannelShape::of<SizedWords<asked>, SizedWords<answered>>(blocks == 1 ? 8 : 4),
            just_below_the_tags_wrap);
        PersistentKernel<SizedHandler<asked, answered>> kernel(
            device(), {.blocks = blocks, .memory = memory});
        for (unsigned i = 0; i < blocks; ++i) {
            expect_answers<asked, answered>(kernel.channel(i), 1000 * i,
                                            blocks == 1 ? repeated(300) : 40);
        }
    }
};
CARILLON_ON_EVERY_DEVICE(SizesTest);
CARILLON_ON_HOST_MEMORY(SizesTest);

TEST_P(SizesTest, channelOfAnySize) {
    expect_channels<56>(1);
    expect_channels<96>(1);
    expect_channels<256>(1);
    expect_channels<768>(1);
    expect_channels<1000>(1);
    expect_channels<1024>(1);
}

TEST_P(SizesTest, severalBlocksHaveAChannelEach) {
    expect_channels<56>(3);
    expect_channels<256>(3);
    expect_channels<1024>(3);
    // So many blocks that their answers leave as one write.
    expect_channels<24>(6);
    expect_channels<56>(6);
    expect_channels<1000>(6);
}

TEST_P(SizesTest, requestAndReplyHaveSizesOfTheirOwn) {
    expect_channels<8, 56>(1);
    expect_channels<56, 8>(1);
    expect_channels<8, 1024>(1);
    expect_channels<1024, 8>(1);
    expect_channels<48, 768>(1);
    expect_channels<96, 104>(1);
}

template <std::size_t size>
void expect_flipped(Device const& device) {
    PersistentKernel<FlipsBytes<size>> kernel(device, {.capacity = 4});
    for (std::uint64_t n = 0; n < 40; ++n) {
        auto const request = SizedBytes<size>::make(n);
        EXPECT_EQ(kernel.channel().call(request, patience), FlipsBytes<size>()(request)) << size;
    }
}

TEST_P(SizesTest, sizesThatAreNoWords) {
    expect_flipped<1>(device());
    expect_flipped<13>(device());
    expect_flipped<49>(device());
    expect_flipped<97>(device());
    expect_flipped<255>(device());
    expect_flipped<1001>(device());
    expect_flipped<1023>(device());
}

TEST_P(SizesTest, overAlignedMessagesComeAligned) {
    PersistentKernel<WideHandler> kernel(device());
    for (std::uint64_t n = 0; n < 40; ++n) {
        WideWords const reply = kernel.channel().call({SizedWords<128>::make(n)}, patience);
        EXPECT_EQ(reply.words.number(), ~n);
        EXPECT_TRUE(reply.words.whole());
    }
}

template <std::size_t size>
void expect_watched(Device const& device, unsigned blocks) {
    auto const shape = ChannelShape::of<SizedWords<size>, SizedWords<size>>(4);
    auto const memory =
        std::make_shared<ChannelMemory>(device, 3 * blocks, shape, just_below_the_tags_wrap);
    PersistentKernel<SizedHandler<size>, WatchedChannels> kernel(
        device, {.blocks = blocks, .memory = memory, .watched = {.per_block = 3}});
    std::vector<Ticket> tickets;
    for (std::uint64_t round = 0; round < 30; ++round) {
        tickets.clear();
        for (unsigned i = 0; i < kernel.channels(); ++i) {
            auto const request = SizedWords<size>::make(100 * round + i);
            tickets.push_back(kernel.channel(i).submit(request, patience));
        }
        for (unsigned i = 0; i < kernel.channels(); ++i) {
            auto const reply = kernel.channel(i).wait(tickets[i], patience);
            ASSERT_EQ(reply.number(), ~(100 * round + i)) << size << ", channel " << i;
            ASSERT_TRUE(reply.whole()) << size << ", channel " << i;
        }
    }
}

TEST_P(SizesTest, watchedChannelsOfAnySize) {
    expect_watched<56>(device(), 1);
    expect_watched<256>(device(), 2);
    expect_watched<768>(device(), 1);
    expect_watched<1024>(device(), 1);
}

TEST_P(SizesTest, expressChannelsOfAnySize) {
    auto const expect = [&]<std::size_t size>() {
        PersistentKernel<SizedHandler<size>> kernel(
            device(), {.blocks = 2, .capacity = 4, .channels = {.express = true}});
        for (unsigned block = 0; block < 2; ++block) {
            expect_answers<size>(kernel.express(block), 0, 40);
            expect_answers<size>(kernel.channel(block), 500, 40);
        }
    };
    expect.operator()<56>();
    expect.operator()<256>();
    expect.operator()<1024>();
}

TEST_P(SizesTest, severalThreadsServeMessagesOfAnySize) {
    auto const expect = [&]<std::size_t size>() {
        PersistentKernel<SizedWarpHandler<size>> kernel(device(), {.blocks = 2, .capacity = 4});
        for (unsigned block = 0; block < 2; ++block) {
            expect_answers<size>(kernel.channel(block), 1000 * block, 80);
        }
    };
    expect.operator()<56>();
    expect.operator()<256>();
    expect.operator()<1000>();
    expect.operator()<1024>();
}

template <class Handler, std::size_t size>
void expect_pool(Device const& device, unsigned blocks, std::uint32_t stripe) {
    PersistentKernel<Handler, Pool> kernel(
        device, {.blocks = blocks,
                 .capacity = 8 * stripe,
                 .pool = {.clients = 3, .replies = 4, .stripe = stripe}});
    std::atomic<int> wrong{0};
    std::vector<std::jthread> threads;
    for (std::uint64_t c = 0; c < 2; ++c) {
        threads.emplace_back([&, c] {
            auto client = kernel.client();
            for (std::uint64_t i = 0; i < 60; ++i) {
                std::uint64_t const number = 1000 * c + 2 * i;
                Ticket const first = client.submit(SizedWords<size>::make(number), patience);
                auto const second = client.call(SizedWords<size>::make(number + 1), patience);
                wrong += second.whole() && second.number() == ~(number + 1) ? 0 : 1;
                auto const reply = client.wait(first, patience);
                wrong += reply.whole() && reply.number() == ~number ? 0 : 1;
            }
        });
    }
    threads.clear();
    EXPECT_EQ(wrong, 0) << size << " bytes, " << blocks << " blocks, stripe " << stripe;
}

TEST_P(SizesTest, poolsOfAnySize) {
    for (unsigned const blocks : {1U, 3U}) {
        for (std::uint32_t const stripe : {1U, 32U}) {
            expect_pool<SizedHandler<56>, 56>(device(), blocks, stripe);
            expect_pool<SizedHandler<256>, 256>(device(), blocks, stripe);
            expect_pool<SizedHandler<1024>, 1024>(device(), blocks, stripe);
        }
    }
    expect_pool<SizedHandler<1000>, 1000>(device(), 1, 1);
    expect_pool<SizedHandler<8, 768>, 8>(device(), 6, 1);
    expect_pool<SizedHandler<768, 8>, 768>(device(), 6, 32);
    expect_pool<SizedWarpHandler<56>, 56>(device(), 2, 1);
    expect_pool<SizedWarpHandler<1024>, 1024>(device(), 2, 1);
}

}  // namespace
}  // namespace carillon::test
