// SPDX-License-Identifier: Apache-2.0
// A client writes any value into the memory that it has. P is the owner, C the client. Both are in
// this process, since C changes its memory through a mapping of its own.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "carillon/carillon.hpp"
#include "ipc/fixtures.hpp"
#include "ipc/stranger.hpp"
#include "serving/client_session.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {
using namespace detail;
namespace {

// All that C can write.
std::vector<std::span<std::byte>> writable(detail::ChannelParts const& channel) {
    detail::MappedChannel const& mapped =
        static_cast<detail::ClientLease const&>(*channel.lease).mapped();
    return {mapped.device_bytes(), mapped.host_bytes()};
}

// `Requests`: how the kernel serves.
template <class Requests>
class HostileTo : public WithKernel<Requests> {
   protected:
    // Whether a client's block counts its requests alone.
    static constexpr bool one_each = std::is_same_v<Requests, SharedChannels>;

    HostileTo()
        : WithKernel<Requests>({.blocks = 2,
                                .capacity = 8,
                                .shared_pool = {.clients = one_each ? SharedPool{}.clients : 2}}) {}

    [[nodiscard]] std::shared_ptr<detail::ClientSession> session() const {
        return session_at(this->path());
    }

    // Calls while `harm` goes on; every one is answered as it should be.
    void expect_others_unharmed(std::function<void(unsigned round)> const& harm) {
        Channel<Ask, Told> other(lease_of(*session()));
        std::uint64_t served = other.call({0}, patience).served;
        for (unsigned round = 0; round < rounds; ++round) {
            harm(round);
            Told const told = other.call({round}, patience);
            ASSERT_EQ(told.twice, 2 * round);
            if (one_each) {
                ASSERT_EQ(told.served, ++served);
            }
        }
    }
    // The block that C had serves another one.
    void expect_served_next(std::uint32_t clients) {
        EXPECT_TRUE(eventually([&] { return this->server().clients().size() <= clients; }));
        Channel<Ask, Told> first(lease_of(*session()));
        Channel<Ask, Told> second(lease_of(*session()));
        EXPECT_EQ(first.call({8}, patience).twice, 16U);
        EXPECT_EQ(second.call({9}, patience).twice, 18U);
    }

    // Writes garbage into every word of a client's memory, while another client calls.
    void expect_garbage_harms_nobody(unsigned seed) {
        {
            auto const session = this->session();
            detail::ChannelParts const channel = lease_of(*session);
            std::mt19937_64 random(seed);
            expect_others_unharmed([&](unsigned /*round*/) {
                for (std::span<std::byte> const bytes : writable(channel)) {
                    std::size_t const words = bytes.size() / sizeof(std::uint64_t);
                    std::uint64_t const word = random();
                    std::memcpy(bytes.data() + random() % words * sizeof(word), &word,
                                sizeof(word));
                }
            });
        }
        expect_served_next(0);
    }

    static constexpr unsigned rounds = 2000;
};
using HostileTest = HostileTo<SharedChannels>;
using HostilePoolTest = HostileTo<SharedPool>;

TEST_F(HostileTest, garbageInEveryWordOfItsMemory) { expect_garbage_harms_nobody(1); }

TEST_F(HostileTest, creditsThatRunBackwardsOrFarAhead) {
    {
        auto const session = this->session();
        detail::ChannelParts const leased = lease_of(*session);
        Channel<Ask, Told> channel(leased);
        expect_others_unharmed([&](unsigned round) {
            (void)channel.try_submit({round});
            std::uint64_t const credits[] = {0, ~std::uint64_t{0}, round, 1ULL << 63U};
            std::atomic_ref(*leased.view.replies.credit).store(credits[round % 4]);
            std::atomic_ref(*leased.view.requests.credit).store(credits[(round + 1) % 4]);
        });
    }
    expect_served_next(0);
}

TEST_F(HostileTest, tagsOfRequestsThatWereNeverSent) {
    {
        auto const session = this->session();
        detail::ChannelParts const leased = lease_of(*session);
        RingView const& ring = leased.view.requests;
        expect_others_unharmed([&](unsigned round) {
            Line const line = with_tag(Line{}, static_cast<Tag>(ring.first + round));
            *ring.slot(ring.first + round) = line;
            *ring.slot(ring.first + round, ~PageWord{0}) = line;
        });
    }
    expect_served_next(0);
}

TEST_F(HostilePoolTest, garbageInEveryWordOfItsMemory) { expect_garbage_harms_nobody(2); }

// C sends as fast as it can, and looks at no reply.
TEST_F(HostilePoolTest, requestsWithoutAPauseOrARoomForTheirReplies) {
    {
        auto const session = this->session();
        detail::ChannelParts const leased = lease_of(*session);
        RingView const& ring = leased.view.requests;
        std::jthread const flood([&](std::stop_token const& stop) {
            for (Sequence number = ring.first; !stop.stop_requested(); ++number) {
                *ring.slot(number) = pack(Ask{number}, tag_of(number));
                std::this_thread::yield();
            }
        });
        expect_others_unharmed([](unsigned /*round*/) {});
    }
    expect_served_next(0);
}

// 1. C writes counts that no client of the library writes. 2. P takes its place back and says why,
// to C and in its log, while C has all of it mapped. 3. The place is another client's, and a
// third one goes on.
class NonsenseTest : private LoggedLines, public WithKernel<> {
   protected:
    static constexpr unsigned slots = 8;

    NonsenseTest() : WithKernel({.blocks = 2, .capacity = slots}, {.log = LoggedLines::log()}) {}
    template <class Harm>
    void expect_ended(Harm&& harm, std::string const& why) {
        Channel<Ask, Told> other(lease_of(*session("another")));
        EXPECT_EQ(other.call({1}, patience).twice, 2U);
        auto const hostile = session("hostile");
        detail::ChannelParts const leased = lease_of(*hostile);
        Channel<Ask, Told> channel(leased);
        EXPECT_EQ(channel.call({2}, patience).twice, 4U);
        harm(*leased.counters, leased.view.replies.first);
        EXPECT_TRUE(
            eventually([&] { return leased.lease->state_word().load() != KernelState::running; }));
        CARILLON_EXPECT_ERROR((void)channel.call({3}, patience), StoppedError, why);
        CARILLON_EXPECT_ERROR((void)channel.try_submit({3}), StoppedError, "ended the lease");
        Channel<Ask, Told> next(lease_of(*session("the next")));
        EXPECT_EQ(next.call({4}, patience).twice, 8U);
        // C's connection stands.
        EXPECT_EQ(hostile->status().objects.size(), 1U);
        EXPECT_EQ(other.call({5}, patience).twice, 10U);
        std::vector<std::string> const lines = now();
        ASSERT_EQ(lines.size(), 1U);
        EXPECT_NE(lines[0].find("hostile, process "), std::string::npos) << lines[0];
        EXPECT_NE(lines[0].find("lost its place at \"kernel\": " + why), std::string::npos)
            << lines[0];
    }
    [[nodiscard]] std::shared_ptr<detail::ClientSession> session(std::string const& name) const {
        return session_at(path(), name);
    }
    [[nodiscard]] bool nothing_said() const { return now().empty(); }
};

TEST_F(NonsenseTest, moreRepliesThanRequests) {
    expect_ended(
        [](CounterWords& words, Sequence first) { CounterWords::store(words.taken, first + 1); },
        "it has taken more replies than it has sent requests");
}

TEST_F(NonsenseTest, requestsThatRunBackwards) {
    expect_ended(
        [](CounterWords& words, Sequence first) {
            CounterWords::store(words.taken, first - 2);
            CounterWords::store(words.submitted, first - 2);
        },
        "its count of requests runs backwards");
}

TEST_F(NonsenseTest, moreUnderWayThanThereAreSlots) {
    expect_ended([](CounterWords& words,
                    Sequence first) { CounterWords::store(words.submitted, first + slots + 1); },
                 "it has more requests outstanding than there are slots");
}

// C counts rightly with the ring full, empty, and full of replies that were given up.
TEST_F(NonsenseTest, whoKeepsToItIsNeverEnded) {
    auto const session = this->session("honest");
    Channel<Ask, Told> channel(lease_of(*session));
    std::vector<Ask> const asks(slots);
    for (unsigned round = 0; round < 100'000; ++round) {
        Tickets sent = channel.try_submit_n(asks);
        ASSERT_TRUE(eventually([&] {
            if (sent.size() == 0) sent = channel.try_submit_n(asks);
            return sent.size() != 0;
        }));
        auto const one_more = channel.try_submit({0});  // usually there is no room
        for (std::size_t i = 0; i < sent.size(); ++i) {
            if (round % 4 == 0 && i % 2 == 0) {
                channel.abandon(sent[i]);
            } else {
                (void)channel.wait(sent[i], patience);
            }
        }
        if (one_more) (void)channel.wait(*one_more, patience);
    }
    EXPECT_TRUE(nothing_said());
}

}  // namespace
}  // namespace carillon::test
