// SPDX-License-Identifier: Apache-2.0
// Exceptions of every user's function, wherever the library calls it: nothing is delivered twice,
// nothing else is lost, and a waiting caller gets the exception.
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"

namespace carillon::test {
using namespace detail;

// Throws at its request `bad`, which is one of several in a row; device code cannot.
struct ThrowsAt {
    std::uint64_t bad;

    CARILLON_HD std::uint64_t operator()(std::uint64_t const& value) const {
#if !defined(__CUDA_ARCH__)
        if (value == bad) throw std::domain_error("bad request");
#endif
        return 10 * value;
    }
};
struct ThrowsAtCommand : ThrowsAt {
    using Commands = carillon::Commands<std::uint64_t>;
};

// A handler that is __device__ alone exits so when nvcc compiles it for the host.
struct Exits {
    CARILLON_HD int operator()(int const& value) const {
#if !defined(__CUDA_ARCH__)
        std::exit(3);  // NOLINT(concurrency-mt-unsafe)
#endif
        return value;
    }
};

// Posts the numbers from 0 on, all at once.
using CountingService = HostService<std::uint64_t, void>;
struct PostNumbersBody {
    CountingService::Caller host;
    std::uint64_t count;

    CARILLON_HD void operator()(unsigned /*block*/) {
        for (std::uint64_t i = 0; i < count; ++i) (void)host.post(i);
    }
};

struct LogNumbersBody {
    DeviceLog to;
    std::uint64_t count;

    CARILLON_HD void operator()(unsigned /*block*/) {
        for (std::uint64_t i = 0; i < count; ++i) log<"number {}">(to, i);
    }
};

using NumbersOut = MpmcRing<std::uint64_t, Direction::to_host>;
struct SendNumbersBody {
    MpmcRingView to;
    std::uint64_t count;

    CARILLON_HD void operator()(unsigned /*block*/) {
        LanesProducer<std::uint64_t, DeviceFar, DeviceNear, OneThread> out(to);
        for (std::uint64_t i = 0; i < count; ++i) (void)out.try_push(i);
    }
};

namespace {

class ExceptionsTest : public KernelTest {};
CARILLON_ON_EVERY_DEVICE(ExceptionsTest);

class HandlerExceptionsTest : public KernelTest {
   protected:
    void SetUp() override {
        if (on_gpu()) GTEST_SKIP() << "device code cannot throw";
        KernelTest::SetUp();
    }

    // Requests before the bad one get their replies, whenever these are taken. The bad one and
    // those after it get the exception.
    template <class Channel>
    static void expect_thrown_at(Channel&& channel, std::uint64_t bad) {
        for (std::uint64_t value = 1; value < bad; ++value) {
            ASSERT_EQ(channel.call(value, patience), 10 * value);
        }
        CARILLON_EXPECT_ERROR(channel.call(bad, patience), std::domain_error, "bad request");
        CARILLON_EXPECT_ERROR(channel.call(bad + 1, patience), std::domain_error, "bad request");
    }
};
CARILLON_ON_EVERY_DEVICE(HandlerExceptionsTest);

constexpr std::uint64_t numbers = 24;

[[nodiscard]] std::vector<std::uint64_t> all_numbers() {
    std::vector<std::uint64_t> all;
    for (std::uint64_t i = 0; i < numbers; ++i) all.push_back(i);
    return all;
}

TEST_P(HandlerExceptionsTest, atAnyRequestOfAnyKindOfKernelReachWhoeverCalls) {
    for (std::uint64_t const bad : {1U, 2U, 7U}) {
        SCOPED_TRACE(bad);
        ThrowsAt const handler{bad};
        expect_thrown_at(PersistentKernel(device(), {}, handler).channel(), bad);
        PersistentKernel<ThrowsAt> express(device(), {.channels = {.express = true}}, handler);
        expect_thrown_at(express.express(), bad);
        PersistentKernel<ThrowsAt, WatchedChannels> watching(
            device(), {.watched = {.per_block = 4}}, handler);
        expect_thrown_at(watching.channel(3), bad);
        CARILLON_EXPECT_ERROR(watching.channel(0).call(3, patience), std::domain_error, "bad");
        PersistentKernel commanded(device(), {}, ThrowsAtCommand{handler});
        expect_thrown_at(commanded.channel(), bad);
        for (std::uint32_t const stripe : {1U, 32U}) {
            PersistentKernel<ThrowsAt, Pool> pooled(device(), {.pool = {.stripe = stripe}},
                                                    handler);
            expect_thrown_at(pooled.client(), bad);
        }
    }
    EXPECT_EQ(PersistentKernel(device(), {}, ThrowsAt{0}).channel().call(1, patience), 10U);
}

// A request at which the function throws, whatever it throws, was served, and once.
TEST_P(ExceptionsTest, ofAServicesFunctionAreKeptAndEveryRequestIsServedOnce) {
    for (std::uint64_t const bad : {std::uint64_t{0}, std::uint64_t{2}, numbers - 1}) {
        SCOPED_TRACE(bad);
        std::vector<std::uint64_t> served;
        CountingService const service(device(), [&](std::uint64_t value) {
            served.push_back(value);
            if (value == bad) throw static_cast<int>(bad);
        });
        ASSERT_TRUE(
            launch(device(), 1, PostNumbersBody{service.device_handle(), numbers}).wait(patience));
        service.flush(patience);
        EXPECT_EQ(served, all_numbers());
        EXPECT_EQ(service.failures(), 1U);
        EXPECT_THROW(service.rethrow_failure(), int);
    }
}

TEST_P(ExceptionsTest, ofALogsSinkAreKeptAndEveryMessageIsHandedOutOnce) {
    for (std::uint64_t const bad : {std::uint64_t{0}, std::uint64_t{2}, numbers - 1}) {
        SCOPED_TRACE(bad);
        std::string const worst = "number " + std::to_string(bad);
        std::vector<std::string> texts;
        LogService const service(device(), {.sink = [&](LogRecord const& record) {
                                     texts.push_back(record.text);
                                     if (record.text == worst) throw std::domain_error(worst);
                                 }});
        ASSERT_TRUE(
            launch(device(), 1, LogNumbersBody{service.device_handle(), numbers}).wait(patience));
        service.flush(patience);
        ASSERT_EQ(texts.size(), numbers);
        for (std::uint64_t i = 0; i < numbers; ++i) {
            EXPECT_EQ(texts[i], "number " + std::to_string(i));
        }
        EXPECT_EQ(service.failures(), 1U);
        CARILLON_EXPECT_ERROR(service.rethrow_failure(), std::domain_error, worst.c_str());
    }
}

TEST(HandlerThatExitsDeathTest, isToldOf) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            PersistentKernel<Exits> kernel(Device::open("emulated"));
            (void)kernel.channel().call(1, patience);
        },
        testing::ExitedWithCode(3), "write CARILLON_HD");
}

// Catches a poll that hands out again the messages that it handed out before.
TEST_P(ExceptionsTest, ofAPollsUseEndItAndTheNextPollGoesOnBehind) {
    for (std::uint64_t bad = 0; bad < numbers; ++bad) {
        SCOPED_TRACE(bad);
        NumbersOut const ring(device(), {.capacity = 64, .stripe = 8});
        auto consumer = ring.consumer();
        ASSERT_TRUE(
            launch(device(), 1, SendNumbersBody{ring.device_view(), numbers}).wait(patience));
        std::vector<std::uint64_t> used;
        auto const take = [&](std::uint64_t value, Sequence /*number*/) {
            used.push_back(value);
            if (value == bad) throw std::domain_error("bad");
        };
        unsigned thrown = 0;
        EXPECT_TRUE(eventually([&] {
            try {
                consumer.poll(take);
            } catch (std::domain_error const&) {
                ++thrown;
            }
            return used.size() >= numbers;
        }));
        EXPECT_EQ(used, all_numbers());
        EXPECT_EQ(thrown, 1U);
    }
}

}  // namespace
}  // namespace carillon::test
