// SPDX-License-Identifier: Apache-2.0
// A client writes whatever it likes into the memory that it has. P: the owner; C: the client; both
// here, since what C does to its memory it does through a mapping of its own.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <thread>
#include <type_traits>
#include <vector>

#include "carillon/carillon.hpp"
#include "ipc/attached.hpp"
#include "ipc/client_session.hpp"
#include "ipc/handlers.hpp"
#include "ipc/process.hpp"

namespace carillon::test {
namespace {

using Types = detail::OneRequest<Ask, Told>;

// All that C can write.
std::vector<std::span<std::byte>> writable(detail::LeasedChannel const& channel) {
    detail::MappedChannel const& mapped =
        static_cast<detail::ClientLease const&>(*channel.lease).mapped();
    return {mapped.device_bytes(), mapped.host_bytes()};
}

// `Requests`: how the kernel serves.
template <class Requests>
class HostileTo : public testing::Test {
   protected:
    // Whether a client's block counts its requests alone.
    static constexpr bool one_each = std::is_same_v<Requests, SharedChannels>;

    [[nodiscard]] std::shared_ptr<detail::ClientSession> connect() const {
        return detail::ClientSession::connect(path_.get(), {.timeout = patience});
    }
    [[nodiscard]] static detail::LeasedChannel attach(detail::ClientSession& session) {
        return session.attach("kernel", detail::MessageTypes::of<Types>());
    }

    // Calls while `harm` goes on; every one is answered as it should be.
    void expect_others_unharmed(std::function<void(unsigned round)> const& harm) {
        Channel<Ask, Told> other(attach(*connect()));
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
        EXPECT_TRUE(eventually([&] { return server_.clients().size() <= clients; }));
        Channel<Ask, Told> first(attach(*connect()));
        Channel<Ask, Told> second(attach(*connect()));
        EXPECT_EQ(first.call({8}, patience).twice, 16U);
        EXPECT_EQ(second.call({9}, patience).twice, 18U);
    }

    static constexpr unsigned rounds = 2000;

   private:
    SocketPath path_;
    Device device_ = Device::open("emulated");
    PersistentKernel<CountingHandler, Requests> kernel_{
        device_, requests(), {.blocks = 2, .capacity = 8, .idle = IdlePolicy::park()}};
    Server server_ = kernel_.serve(path_.get());

    static Requests requests() {
        Requests requests;
        if constexpr (!one_each) requests.clients = 2;
        return requests;
    }
};
using HostileTest = HostileTo<SharedChannels>;
using HostilePoolTest = HostileTo<SharedPool>;

TEST_F(HostileTest, garbageInEveryWordOfItsMemory) {
    {
        auto const session = connect();
        detail::LeasedChannel const channel = attach(*session);
        std::mt19937_64 random(1);
        expect_others_unharmed([&](unsigned /*round*/) {
            for (std::span<std::byte> const bytes : writable(channel)) {
                std::size_t const words = bytes.size() / sizeof(std::uint64_t);
                std::uint64_t const word = random();
                std::memcpy(bytes.data() + random() % words * sizeof(word), &word, sizeof(word));
            }
        });
    }
    expect_served_next(0);
}

TEST_F(HostileTest, creditsThatRunBackwardsOrFarAhead) {
    {
        auto const session = connect();
        detail::LeasedChannel const leased = attach(*session);
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
        auto const session = connect();
        detail::LeasedChannel const leased = attach(*session);
        RingView const& ring = leased.view.requests;
        expect_others_unharmed([&](unsigned round) {
            Line const line = with_tag(Line{}, static_cast<Tag>(ring.first + round));
            *ring.slot(ring.first + round) = line;
            *ring.slot(ring.first + round, ~PageWord{0}) = line;
        });
    }
    expect_served_next(0);
}

TEST_F(HostilePoolTest, garbageInEveryWordOfItsMemory) {
    {
        auto const session = connect();
        detail::LeasedChannel const channel = attach(*session);
        std::mt19937_64 random(2);
        expect_others_unharmed([&](unsigned /*round*/) {
            for (std::span<std::byte> const bytes : writable(channel)) {
                std::size_t const words = bytes.size() / sizeof(std::uint64_t);
                std::uint64_t const word = random();
                std::memcpy(bytes.data() + random() % words * sizeof(word), &word, sizeof(word));
            }
        });
    }
    expect_served_next(0);
}

// As fast as it can, without a look at any reply.
TEST_F(HostilePoolTest, requestsWithoutAPauseOrARoomForTheirReplies) {
    {
        auto const session = connect();
        detail::LeasedChannel const leased = attach(*session);
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

}  // namespace
}  // namespace carillon::test
