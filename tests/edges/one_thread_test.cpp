// SPDX-License-Identifier: Apache-2.0
// Two threads where one is allowed: in a debug build the second one's call is an error that names
// both, and the first one's goes on. This program has the checks of a debug build.
#include "carillon/detail/host/door.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "carillon/carillon.hpp"
#include "carillon/detail/wire/config.hpp"
#include "support/eventually.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {
using namespace detail;

// A handler that answers when the gate is open.
struct AnswersLater {
    static inline std::atomic<bool> gate = false;

    CARILLON_HD int operator()(int const& value) const {
#if !defined(__CUDA_ARCH__)
        EXPECT_TRUE(eventually([] { return gate.load(); }));
#endif
        return value;
    }
};

namespace {

using namespace std::chrono_literals;

class OneThreadTest : public testing::Test {
   protected:
    void SetUp() override {
#if CARILLON_THREAD_SANITIZER
        GTEST_SKIP() << "two threads in one end, one after the other, are what it reports";
#endif
    }

    // While another thread is in wait(), call() is refused, and the error names both. `let_go()`
    // ends the wait, which succeeds.
    template <class Wait, class Call, class LetGo>
    static void expect_refused(std::string const& name, Wait&& wait, Call&& call, LetGo&& let_go) {
        SCOPED_TRACE(name);
        std::atomic<pid_t> waiter = 0;
        std::thread other([&] {
            waiter = gettid();
            EXPECT_TRUE(eventually([&] { return did(wait); }));  // the other may be in a call
        });
        std::string text;
        bool const refused = eventually([&] {
            try {
                call();
            } catch (UsageError const& error) {
                text = error.what();
            }
            return !text.empty();
        });
        EXPECT_TRUE(refused);
        EXPECT_NE(text.find(name), std::string::npos) << text;
        EXPECT_NE(text.find("thread " + std::to_string(gettid()) + " calls"), std::string::npos)
            << text;
        EXPECT_NE(text.find("thread " + std::to_string(waiter) + " is in a call"),
                  std::string::npos)
            << text;
        let_go();
        other.join();
        EXPECT_NO_THROW(call());
    }

    // Whether no other thread was in a call.
    template <class Call>
    static bool did(Call&& call) {
        try {
            call();
            return true;
        } catch (UsageError const&) {
            return false;
        }
    }

    Device device_ = Device::open("emulated");
};

TEST_F(OneThreadTest, ring) {
    Ring<int, Direction::to_device> ring(device_, {.capacity = 2});
    auto end = ring.device_handle();
    ASSERT_TRUE(ring.try_push(1) && ring.try_push(2));
    expect_refused(
        "Ring::try_push", [&] { ring.push(3, patience); }, [&] { (void)ring.try_push(4); },
        [&] {
            int value = 0;
            EXPECT_TRUE(end.try_pop(value) && end.try_pop(value));
            EXPECT_EQ(value, 2);
        });
}

TEST_F(OneThreadTest, channel) {
    Channel<int, int> channel(device_);
    auto ends = channel.device_handle();
    Ticket const ticket = channel.submit(5, patience);
    expect_refused(
        "Client::try_take", [&] { EXPECT_EQ(channel.call(6, patience), 7); },
        [&] { (void)channel.try_take(ticket); },
        [&] {
            int value = 0;
            EXPECT_TRUE(eventually([&] {
                while (ends.requests.try_pop(value)) EXPECT_TRUE(ends.replies.try_push(value + 1));
                return value == 6;
            }));
        });
}

TEST_F(OneThreadTest, channelThatWarmsUp) {
    Channel<int, int> channel(device_);
    auto ends = channel.device_handle();
    expect_refused(
        "Client::warm", [&] { EXPECT_EQ(channel.call(6, patience), 7); }, [&] { channel.warm(); },
        [&] {
            int value = 0;
            EXPECT_TRUE(eventually([&] { return ends.requests.try_pop(value); }));
            EXPECT_TRUE(ends.replies.try_push(value + 1));
        });
}

TEST_F(OneThreadTest, claimsOfAChunkRing) {
    ChunkRing<> ring(device_, {.chunk_bytes = 64, .chunks = 2});
    auto end = ring.device_handle();
    for (int i = 0; i < 2; ++i) ring.claim(patience).commit(8);
    expect_refused(
        "ChunkRing::try_claim", [&] { (void)ring.claim(patience); },
        [&] { (void)ring.try_claim(); },
        [&] {
            ChunkView<NoMeta> chunk{};
            EXPECT_TRUE(end.try_take(chunk));
            EXPECT_TRUE(end.release(chunk.sequence));
        });
}

TEST_F(OneThreadTest, clientOfAPooledKernel) {
    AnswersLater::gate = false;
    PersistentKernel<AnswersLater, Pool> kernel(device_);
    auto client = kernel.client();
    Ticket const ticket = client.submit(5, patience);
    expect_refused(
        "Client::try_take", [&] { EXPECT_EQ(client.call(6, patience), 6); },
        [&] { (void)client.try_take(ticket); }, [&] { AnswersLater::gate = true; });
}

// Catches a check that forbids an allowed use.
TEST_F(OneThreadTest, callsOfAnotherObjectAndOneAfterTheOtherAreNone) {
    std::uint64_t one = 0;
    std::uint64_t other = 0;
    {
        detail::OneThreadCall<true> const outer(&one);
        detail::OneThreadCall<true> const of_another(&other);
    }
    EXPECT_NO_THROW(detail::OneThreadCall<true>{&one});
    std::thread([&] {
        EXPECT_NO_THROW(detail::OneThreadCall<true>{&one});
        EXPECT_NO_THROW(detail::OneThreadCall<true>{&other});
    }).join();
}

TEST_F(OneThreadTest, callWithinACallOfTheSameObjectIsRefused) {
    int one = 0;
    detail::OneThreadCall<true> const outer(&one);
    auto const inner = [&] { detail::OneThreadCall<true> const call(&one); };
    CARILLON_EXPECT_ERROR(
        detail::in_call("inner", inner), UsageError,
        "inner: thread " + std::to_string(gettid()) + " calls it inside an unfinished call");
}

// Both the handler's call and the one that it has interrupted: the latter's reply is its own.
TEST_F(OneThreadTest, signalHandlerThatCallsTheChannelItInterruptedIsRefused) {
    static Channel<int, int>* interrupted;
    static std::string text;
    static std::atomic<bool> handled = false;
    Channel<int, int> channel(device_);
    auto ends = channel.device_handle();
    interrupted = &channel;
    struct sigaction action {};
    struct sigaction before {};
    action.sa_handler = [](int) {
        try {
            (void)interrupted->call(1'000'000, 0ns);
        } catch (UsageError const& error) {
            text = error.what();
        }
        handled = true;
    };
    ::sigaction(SIGUSR1, &action, &before);
    pthread_t const caller = ::pthread_self();
    std::thread kernel([&] {
        int value = 0;
        EXPECT_TRUE(eventually([&] { return ends.requests.try_pop(value); }));
        ::pthread_kill(caller, SIGUSR1);  // it is in the call, and stays there
        EXPECT_TRUE(eventually([] { return handled.load(); }));
        EXPECT_TRUE(ends.replies.try_push(value + 1));
        EXPECT_FALSE(ends.requests.try_pop(value));
    });
    EXPECT_EQ(channel.call(800, patience), 801);
    kernel.join();
    ::sigaction(SIGUSR1, &before, nullptr);
    EXPECT_NE(text.find("Client::call: thread"), std::string::npos) << text;
    EXPECT_NE(text.find("from a signal handler"), std::string::npos) << text;
}

TEST_F(OneThreadTest, callbackThatPollsTheConsumerThatCalledItIsRefused) {
    MpmcRing<int, Direction::to_host> ring(device_);
    auto end = ring.device_handle();
    ASSERT_TRUE(end.try_push(1));
    auto consumer = ring.consumer();
    CARILLON_EXPECT_ERROR(
        consumer.poll([&](int, Sequence) { (void)consumer.poll([](int, Sequence) {}); }),
        UsageError, "MpmcRing::poll: thread");
}

// More objects than there is room to write down.
TEST_F(OneThreadTest, tooManyCallsAtOnceAreOverlookedAndNoneIsTakenForAnother) {
    std::vector<std::uint64_t> ends(10'000);
    std::vector<std::unique_ptr<detail::OneThreadCall<true>>> calls;
    for (std::uint64_t& end : ends) {
        calls.push_back(std::make_unique<detail::OneThreadCall<true>>(&end));
    }
    std::thread([] {
        std::uint64_t own = 0;
        EXPECT_NO_THROW(detail::OneThreadCall<true>{&own});
    }).join();
}

static_assert(std::is_empty_v<detail::OneThreadCall<false>>);

}  // namespace
}  // namespace carillon::test
