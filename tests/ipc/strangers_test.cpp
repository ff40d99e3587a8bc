// SPDX-License-Identifier: Apache-2.0
// An owner of a kernel and a store hears clients that say too much, too little, or what is not
// theirs to say, while others go on. P is the owner, C the others; all are in this process.
#include <gtest/gtest.h>
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <thread>
#include <variant>
#include <vector>

#include "carillon/carillon.hpp"
#include "ipc/fixtures.hpp"
#include "ipc/stranger.hpp"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;

class StrangersTest : public WithKernelAndStore {
   protected:
    ~StrangersTest() override {
        // The other client has not suffered.
        EXPECT_EQ(other_.call({21}, patience).twice, 42U);
        EXPECT_EQ(sealed_.size(), 8U);
        EXPECT_EQ(others_.list().size(), 1U);
        EXPECT_TRUE(eventually([&] { return server_.clients().size() == 2; }));
    }
    [[nodiscard]] detail::UnixSocket stranger() const { return stranger_at(path()); }
    [[nodiscard]] auto& other() { return other_; }
    // A connection that has introduced itself.
    [[nodiscard]] detail::UnixSocket known() const { return known_at(path()); }

   private:
    Server server_ = serve();
    Channel<Ask, Told> other_ = connect().channel<Ask, Told>();
    Store others_ = connect<Store>();
    Buffer sealed_ = others_.create("others", 8).seal();
};

TEST_F(StrangersTest, oneThatSaysNothingIsDroppedAfterAWhile) {
    detail::UnixSocket const silent = stranger();
    ::pollfd closed{silent.fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&closed, 1, static_cast<int>(std::chrono::milliseconds(patience).count())), 1);
    EXPECT_EQ(last_words(silent), std::nullopt);
}

TEST_F(StrangersTest, oneThatWantsSomethingBeforeItSaysWhoItIs) {
    for (detail::Message const& wish : {detail::Message(wish_for("kernel")),
                                        detail::Message(detail::CreateBuffer{"a", 1, false})}) {
        detail::UnixSocket const rude = stranger();
        EXPECT_TRUE(say(rude, wish));
        EXPECT_EQ(last_words(rude), RefusalReason::bad_message);
    }
}

TEST_F(StrangersTest, oneThatIntroducesItselfTwice) {
    detail::UnixSocket const twice = known();
    EXPECT_TRUE(say(twice, detail::Hello{"another"}));
    EXPECT_EQ(last_words(twice), RefusalReason::bad_message);
}

TEST_F(StrangersTest, oneThatTalksAsAnOwner) {
    for (detail::Message const& word :
         {detail::Message(detail::Notice{"kernel", KernelState::stopped, ""}),
          detail::Message(detail::BufferDone{})}) {
        detail::UnixSocket const owner = known();
        EXPECT_TRUE(say(owner, word));
        EXPECT_EQ(last_words(owner), RefusalReason::bad_message);
    }
}

TEST_F(StrangersTest, oneThatSendsHalfAMessage) {
    detail::UnixSocket const half = stranger();
    std::vector<std::byte> hello = detail::encode(1, detail::Hello{"stranger"});
    hello.resize(hello.size() / 2);
    EXPECT_TRUE(half.send(hello));
    EXPECT_EQ(last_words(half), RefusalReason::bad_message);
}

TEST_F(StrangersTest, oneThatSendsMoreThanAMessage) {
    for (bool const is_known : {false, true}) {
        detail::UnixSocket const wordy = is_known ? known() : stranger();
        EXPECT_TRUE(say_too_much(wordy));
        EXPECT_EQ(last_words(wordy), RefusalReason::bad_message);
    }
}

TEST_F(StrangersTest, oneThatSendsDescriptors) {
    detail::UnixSocket const generous = stranger();
    std::vector<int> const descriptors{0, 0};
    EXPECT_TRUE(generous.send(detail::encode(1, detail::Hello{"stranger"}), descriptors));
    EXPECT_EQ(last_words(generous), RefusalReason::bad_message);
}

// The refusal that `known` gets when it asks for a channel, if any.
std::optional<RefusalReason> answer_to(detail::UnixSocket const& known, detail::Attach const& ask) {
    EXPECT_TRUE(say(known, ask, 7));
    std::optional<RefusalReason> reason;
    EXPECT_TRUE(eventually([&] {
        auto const message = heard_by(known);
        if (!message) return false;
        if (auto const* refused = std::get_if<detail::Refused>(&message->message))
            reason = refused->reason;
        return message->id == 7;
    }));
    return reason;
}

// A program that was compiled otherwise could have each of these.
TEST_F(StrangersTest, messagesOfOtherSlotsOrMembers) {
    detail::UnixSocket const other = known();
    EXPECT_EQ(answer_to(other, wish_for("kernel")), std::nullopt);
    detail::Attach longer = wish_for("kernel");
    longer.reply.slot_lines = 2;
    EXPECT_EQ(answer_to(other, longer), RefusalReason::wrong_types);
    detail::Attach of_a_ring = wish_for("kernel");
    of_a_ring.kind = ObjectKind::ring_to_host;
    EXPECT_EQ(answer_to(other, of_a_ring), RefusalReason::wrong_types);
}

TEST_F(StrangersTest, leasesOfOthersAreNotTheirs) {
    {
        detail::UnixSocket const thief = known();
        for (std::uint32_t lease = 1; lease < 8; ++lease) {
            EXPECT_TRUE(say(thief, detail::Mapped{lease, false, "no"}));
            EXPECT_TRUE(say(thief, detail::Drained{lease}));
            EXPECT_TRUE(say(thief, detail::Detach{lease}));
        }
        for (std::uint64_t i = 0; i < 100; ++i) {
            ASSERT_EQ(other().call({i}, patience).twice, 2 * i);
        }
    }
}

// The owner reads no more of it while there is no room for its answers; then it goes on.
TEST_F(StrangersTest, oneThatAsksAndAsksAndReadsNothingIsHeardAgainWhenItReads) {
    detail::UnixSocket const flood = known();
    std::uint32_t last = 1;
    for (unsigned full = 0; full < 100;) {
        try {
            ASSERT_TRUE(say(flood, wish_for("kernel"), last + 1)) << "it was dropped";
            ++last;
        } catch (SystemError const& error) {
            ASSERT_EQ(error.code(), EAGAIN);
            ++full;
            std::this_thread::yield();
        }
        if (last % 64 == 0) {
            ASSERT_EQ(other().call({last}, patience).twice, 2 * last);
        }
    }
    std::uint32_t heard = 0;
    EXPECT_TRUE(eventually([&] {
        if (auto const message = heard_by(flood)) heard = message->id;
        return heard == last;
    })) << "the last answer was of "
        << heard << " of " << last;
}

TEST_F(StrangersTest, thoseThatConnectAgainAndAgainKeepNobodyWaiting) {
    std::vector<std::jthread> crowd;
    for (unsigned i = 0; i < 2; ++i) {
        crowd.emplace_back([&](std::stop_token const& stop) {
            while (!stop.stop_requested()) (void)stranger();
        });
    }
    // On a machine as busy as this a block may take a while to leave its last client.
    auto const attaches = [&](std::uint64_t value) {
        try {
            Connection const owner = connect();
            auto channel = owner.channel<Ask, Told>();
            return channel.call({value}, patience).twice == 2 * value;
        } catch (RefusedError const& error) {
            EXPECT_EQ(error.reason(), RefusalReason::full) << error.what();
            return false;
        }
    };
    for (std::uint64_t i = 0; i < 20; ++i) {
        ASSERT_TRUE(eventually([&] { return attaches(i); })) << i;
    }
}

using WaitingAsksTest = WithDevice<>;

// 1. C goes while its block is at a request. 2. Another asks for that block, and then for one that
// is free. 3. It has the second, and the first when that is.
TEST_F(WaitingAsksTest, thoseThatCanBeAnsweredAre) {
    Gate gate;
    auto const busy = kernel<HeldHandler>({}, {&gate});
    auto const idle = kernel();
    Server server = busy.serve(path());
    server.add("idle", idle);
    std::shared_ptr<void> const whatever_comes(nullptr, [&](void*) { gate.open = true; });
    {
        auto channel = connect().channel<Ask, Told>();
        ASSERT_TRUE(channel.try_submit({1}));
        ASSERT_TRUE(eventually([&] { return gate.begun.load(); }));
    }
    ASSERT_TRUE(eventually([&] { return server.clients().empty(); }));
    detail::UnixSocket const both = known_at(path());
    EXPECT_TRUE(say(both, wish_for("kernel"), 7));
    EXPECT_TRUE(say(both, wish_for("idle"), 8));
    std::vector<std::uint32_t> answered;
    ASSERT_TRUE(eventually([&] {
        if (auto const message = heard_by(both)) {
            if (message->id > 1) answered.push_back(message->id);
            if (message->id == 8) gate.open = true;
        }
        return answered.size() == 2;
    }));
    EXPECT_EQ(answered, (std::vector<std::uint32_t>{8, 7}));
}

}  // namespace
}  // namespace carillon::test
