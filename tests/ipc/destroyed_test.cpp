// SPDX-License-Identifier: Apache-2.0
// An owner destroys objects that it shares while its server goes on, and may share another of that
// name. P is the owner, C its clients; all are in this process.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "carillon/carillon.hpp"
#include "ipc/fixtures.hpp"
#include "ipc/stranger.hpp"
#include "support/expect_error.hpp"
#include "support/held_resources.hpp"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;

using ToDevice = SharedRing<Ask, Direction::to_device>;
using ToHost = SharedRing<Ask, Direction::to_host>;
using Status = SharedMailbox<Ask, Direction::to_host>;
using Kernel = PersistentKernel<CountingHandler, SharedChannels>;

class DestroyedTest : public WithServer<> {
   protected:
    DestroyedTest() : WithServer(quiet()) {}

    template <class Object, class... Arguments>
    [[nodiscard]] std::unique_ptr<Object> share(std::string const& name, Arguments&&... arguments) {
        auto object = std::make_unique<Object>(device(), std::forward<Arguments>(arguments)...);
        server().add(name, *object);
        return object;
    }
    [[nodiscard]] std::unique_ptr<Kernel> add(std::string const& name) {
        auto added = std::make_unique<Kernel>(kernel());
        server().add(name, *added);
        return added;
    }

    // Waits until `call` throws StoppedError, and returns its text.
    template <class Call>
    [[nodiscard]] static std::string stopped(Call&& call) {
        std::string what;
        EXPECT_TRUE(eventually([&] {
            try {
                static_cast<void>(call());
            } catch (StoppedError const& error) {
                what = error.what();
            }
            return !what.empty();
        }));
        return what;
    }
};

TEST_F(DestroyedTest, callsOfItsClientsSaySo) {
    // 1. C has an object of each kind, and a channel.
    auto mailbox = share<SharedMailbox<Ask>>("limits");
    auto to_device = share<ToDevice>("orders");
    auto to_host = share<ToHost>("fills");
    auto chunks = share<SharedChunkRing<>>("chunks", ChunkRingOptions{.chunk_bytes = 4096});
    auto const kernel = add("quotes");
    Connection const owner = connect();
    auto limits = owner.mailbox<Ask>("limits");
    auto orders = owner.ring<Ask, Direction::to_device>("orders");
    auto fills = owner.ring<Ask, Direction::to_host>("fills");
    auto filled = owner.chunk_ring<>("chunks");
    auto quotes = owner.channel<Ask, Told>("quotes");
    // 2. P destroys the objects, while a thread of C waits for a message.
    auto waits = std::async(std::launch::async,
                            [&] { return stopped([&] { return fills.pop(patience); }); });
    mailbox.reset();
    to_device.reset();
    to_host.reset();
    chunks.reset();
    // 3. Every call of C to them gets the error.
    EXPECT_EQ(stopped([&] {
                  limits.set({1});
                  return true;
              }),
              "Mailbox::set: the owner has destroyed the mailbox");
    EXPECT_EQ(stopped([&] { return orders.try_push({1}); }),
              "Ring::try_push: the owner has destroyed the ring to the device");
    CARILLON_EXPECT_ERROR(orders.push({1}, patience), StoppedError, "the owner has destroyed");
    EXPECT_EQ(waits.get(), "Ring::pop: the owner has destroyed the ring to the host");
    CARILLON_EXPECT_ERROR((void)fills.try_pop(), StoppedError, "Ring::try_pop: ");
    EXPECT_EQ(stopped([&] { return filled.try_claim(); }),
              "ChunkRing::try_claim: the owner has destroyed the chunk ring");
    // 4. The channel is as it was.
    EXPECT_EQ(quotes.call({4}, patience).twice, 8U);
}

TEST_F(DestroyedTest, readersFindWhatItSaidLast) {
    auto status = share<Status>("status", Ask{1});
    auto log = std::make_unique<LogService>(device(), LogOptions{.sink = [](LogRecord const&) {}});
    server().add("log", *log);
    Connection const owner = connect();
    auto reader = owner.mailbox<Ask, Direction::to_host>("status");
    LogReader messages = owner.log("log");
    status->device_handle().set({2});
    DeviceLog device_log = log->device_handle();
    carillon::log<"the last">(device_log);
    status.reset();
    log.reset();
    Ask found{};
    EXPECT_TRUE(reader.refresh(found));
    EXPECT_EQ(found.value, 2U);
    EXPECT_EQ(stopped([&] { return reader.refresh(found); }),
              "Mailbox::refresh: the owner has destroyed the mailbox to the host");
    auto const last = messages.next(patience);
    ASSERT_TRUE(last);
    EXPECT_EQ(last->text, "the last");
    CARILLON_EXPECT_ERROR((void)messages.next(patience), StoppedError,
                          "LogReader::next: the owner has destroyed the log");
}

TEST_F(DestroyedTest, reportsSaySoAndNobodyNewGetsIt) {
    auto mailbox = share<SharedMailbox<Ask>>("limits");
    auto status = share<Status>("status", Ask{1});
    Connection const owner = connect();
    for (auto const& object : owner.status().objects) EXPECT_EQ(object.state, KernelState::running);
    mailbox.reset();
    status.reset();
    for (auto const& object : owner.status().objects) {
        EXPECT_EQ(object.state, KernelState::stopped) << object.name;
        EXPECT_EQ(object.blocks.at(0).activity, BlockActivity::ended) << object.name;
    }
    CARILLON_EXPECT_ERROR((void)owner.mailbox<Ask>("limits"), RefusedError,
                          "refused (stopping): the owner has destroyed the mailbox");
    CARILLON_EXPECT_ERROR(((void)connect().mailbox<Ask, Direction::to_host>("status")),
                          RefusedError, "the owner has destroyed the mailbox to the host");
}

// Catches ends of the former that come to life again with the name.
TEST_F(DestroyedTest, anotherMayHaveTheName) {
    auto mailbox = share<SharedMailbox<Ask>>("limits");
    CARILLON_EXPECT_ERROR(share<SharedMailbox<Ask>>("limits"), UsageError,
                          R"(there is already a mailbox named "limits")");
    Connection const owner = connect();
    using Limits = Mailbox<Ask, Direction::to_device>;
    std::vector<std::unique_ptr<Limits>> all;
    for (std::uint64_t round = 1; round <= 20; ++round) {
        all.emplace_back(new Limits(owner.mailbox<Ask>("limits")));
        auto end = mailbox->device_handle();
        all.back()->set({round});
        Ask found{};
        EXPECT_TRUE(eventually([&] { return end.refresh(found); }));
        EXPECT_EQ(found.value, round);
        mailbox.reset();
        mailbox = share<SharedMailbox<Ask>>("limits");
        (void)stopped([&] {
            all.back()->set({round});
            return true;
        });
        if (round < 20) (void)owner.mailbox<Ask>("limits");
        for (auto const& each : all) EXPECT_THROW(each->set({0}), StoppedError);
    }
    EXPECT_EQ(owner.status().objects.size(), 1U);
    EXPECT_EQ(owner.status().objects.at(0).state, KernelState::running);
    // An object of another kind may take the name, too.
    mailbox.reset();
    auto const ring = share<ToDevice>("limits");
    auto orders = owner.ring<Ask, Direction::to_device>("limits");
    EXPECT_TRUE(orders.try_push({1}));
}

TEST_F(DestroyedTest, formersLeaveNothingBehind) {
    Connection const owner = connect();
    auto status = share<Status>("status", Ask{1});
    auto const replace = [&] {
        auto const reader = owner.mailbox<Ask, Direction::to_host>("status");
        status.reset();
        status = share<Status>("status", Ask{2});
    };
    auto const held_after_some = [&] {
        for (unsigned i = 0; i < 3; ++i) replace();
        return Held::now().descriptors;
    };
    long const before = held_after_some();
    EXPECT_TRUE(eventually([&] { return held_after_some() <= before; }));
}

TEST_F(DestroyedTest, kernelThatHasEndedIsReplacedBesideItsClients) {
    auto kernel = add("quotes");
    auto const risk = add("risk");
    Connection const owner = connect();
    auto quotes = owner.channel<Ask, Told>("quotes");
    auto to_risk = owner.channel<Ask, Told>("risk");
    EXPECT_EQ(quotes.call({1}, patience).served, 0U);
    kernel->stop(patience);
    kernel = add("quotes");
    (void)stopped([&] { return quotes.call({1}, patience); });
    auto next = owner.channel<Ask, Told>("quotes");
    EXPECT_EQ(next.call({2}, patience).served, 0U);
    EXPECT_THROW((void)quotes.call({1}, patience), StoppedError);
    EXPECT_EQ(to_risk.call({3}, patience).twice, 6U);
}

TEST_F(DestroyedTest, clientThatWaitsGetsTheNextOfTheName) {
    auto mailbox = share<SharedMailbox<Ask>>("limits");
    mailbox.reset();
    auto waits = std::async(std::launch::async, [&] {
        auto limits =
            connect({.timeout = patience, .wait_for_owner = patience}).mailbox<Ask>("limits");
        limits.set({7});
    });
    EXPECT_TRUE(eventually([&] { return server().clients().size() == 1; }));
    mailbox = share<SharedMailbox<Ask>>("limits");
    EXPECT_NO_THROW(waits.get());
    auto end = mailbox->device_handle();
    Ask found{};
    EXPECT_TRUE(eventually([&] { return end.refresh(found); }));
    EXPECT_EQ(found.value, 7U);
}

// The answers to a stranger, with the numbers of their questions, until `wanted` of them have come.
std::vector<detail::Decoded> answers(detail::UnixSocket const& stranger, std::size_t wanted) {
    std::vector<detail::Decoded> all;
    EXPECT_TRUE(eventually([&] {
        if (auto const message = heard_by(stranger)) all.push_back(*message);
        return all.size() == wanted;
    }));
    return all;
}
detail::Attach attach_message(std::string const& name) {
    detail::MessageType const type = detail::message_type<Ask>();
    return {name, ObjectKind::ring_to_device, type, type, false};
}

// C has not mapped its lease when it ends: it knows it by no number yet, and says so then.
TEST_F(DestroyedTest, whoIsLentItAtThatMomentIsToldAgain) {
    auto ring = share<ToDevice>("orders");
    detail::UnixSocket const stranger = known_at(path());
    EXPECT_TRUE(say(stranger, attach_message("orders")));
    auto const attached = std::get<detail::Attached>(answers(stranger, 2).at(1).message);
    ring.reset();
    ring = share<ToDevice>("orders");
    // The stranger may have heard of the former one before.
    std::optional<detail::Ended> ended;
    std::optional<detail::Notice> notice;
    while (!ended || !notice || notice->state != KernelState::running) {
        auto const next = answers(stranger, 1);
        ASSERT_EQ(next.size(), 1U);
        if (auto const* said = std::get_if<detail::Ended>(&next[0].message)) ended = *said;
        if (auto const* said = std::get_if<detail::Notice>(&next[0].message)) notice = *said;
        ASSERT_TRUE(ended || (notice && notice->state == KernelState::stopped));
    }
    EXPECT_EQ(ended->lease, attached.lease);
    EXPECT_EQ(ended->text, "the owner has destroyed the ring to the device");
    EXPECT_TRUE(say(stranger, detail::Mapped{attached.lease, true, ""}));
    auto const again = answers(stranger, 1);
    EXPECT_EQ(std::get<detail::Ended>(again.at(0).message).lease, attached.lease);
}

// C waits for a place that the last client has left, and no device has.
TEST_F(DestroyedTest, whoWaitsForAPlaceOfItIsRefused) {
    auto ring = share<ToDevice>("orders");
    (void)connect().ring<Ask, Direction::to_device>("orders");
    EXPECT_TRUE(eventually([&] { return server().clients().empty(); }));
    detail::UnixSocket const stranger = known_at(path());
    EXPECT_TRUE(say(stranger, attach_message("orders"), 2));
    EXPECT_TRUE(say(stranger, detail::Look{0, 0}, 3));
    EXPECT_EQ(answers(stranger, 2).at(1).id, 3U);
    ring.reset();
    ring = share<ToDevice>("orders");
    std::optional<detail::Refused> refused;
    while (!refused) {
        auto const next = answers(stranger, 1);
        ASSERT_EQ(next.size(), 1U);
        if (auto const* said = std::get_if<detail::Refused>(&next[0].message)) refused = *said;
        EXPECT_EQ(next[0].id, refused ? 2U : 0U);
    }
    EXPECT_EQ(refused->reason, RefusalReason::stopping);
    EXPECT_EQ(refused->text, "the owner has destroyed the ring to the device");
}

}  // namespace
}  // namespace carillon::test
