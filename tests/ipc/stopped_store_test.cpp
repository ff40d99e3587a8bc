// SPDX-License-Identifier: Apache-2.0
// A store that reads nothing for a while and then goes on: messages cross on the way meanwhile. P
// is the store, in a process of its own; C are its clients, here.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "carillon/carillon.hpp"
#include "device/device_fixture.hpp"
#include "ipc/buffers.hpp"
#include "ipc/fixtures.hpp"
#include "support/asleep.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {
namespace {

class StoppedStoreTest : public StoreClientTest {
   protected:
    // Starts a store of whose buffers a connection may hold so many.
    void start(unsigned holds = 100) {
        owner_.emplace(serving(
            {"store-own", path(), std::to_string(256 << 20), std::to_string(holds), GetParam()}));
    }
    void stop() const { ASSERT_TRUE(owner_->stop()); }
    void go_on() const { owner_->go_on(); }
    // Whether buffers have memory that others had before them.
    [[nodiscard]] bool shows_memory_once() const {
        return device().info().memory_source == MemorySource::vulkan;
    }

   private:
    std::optional<Process> owner_;
};
CARILLON_ON_EVERY_DEVICE(StoppedStoreTest);

// 1. C holds as many as it may. 2. P stops, and C releases more buffers than its socket has room to
// say. 3. P goes on, and others come, although C asks for nothing.
TEST_P(StoppedStoreTest, hearsOfAllThatWasLetGoMeanwhile) {
    if (shows_memory_once()) GTEST_SKIP() << "so many memories of a driver's take long";
    constexpr unsigned holds = 700;
    constexpr unsigned more = 500;
    start(holds);
    Store const maker = connect();
    SealedBuffers there = maker.sealed_buffers();
    std::vector<Buffer> held;
    for (unsigned i = 0; i < holds; ++i) {
        std::uint64_t const id = put(maker, std::byte{1}, 1);
        auto next = there.next(patience);
        ASSERT_TRUE(next);
        held.push_back(std::move(*next));
        maker.remove(id);
    }
    stop();
    held.clear();
    go_on();
    for (unsigned i = 0; i < more; ++i) (void)put(maker, std::byte{2}, 1);
    unsigned came = 0;
    EXPECT_TRUE(eventually([&] {
        ::pollfd readable{there.descriptor(), POLLIN, 0};
        EXPECT_EQ(::poll(&readable, 1, 30'000), 1);
        came += there.next() ? 1 : 0;
        return came == more;
    })) << came;
    EXPECT_EQ(there.missed(), 0U);
}

// 1. P stops, and C releases more buffers than its socket has room to say. 2. P goes on. C makes no
// call: with each buffer that it releases later it sends what found no room.
TEST_P(StoppedStoreTest, buffersThatGoLaterTakeAlongWhatFoundNoRoom) {
    if (shows_memory_once()) GTEST_SKIP() << "so many memories of a driver's take long";
    constexpr std::size_t last = 30;
    start(700);
    Store const other = connect();
    Store const client = connect();
    std::vector<Buffer> held;
    for (unsigned i = 0; i < 700; ++i) held.push_back(client.get(put(other, std::byte{1}, 1)));
    stop();
    held.erase(held.begin() + last, held.end());
    go_on();
    auto const holders = [&] {
        std::vector<BufferInfo> const all = other.list();
        return std::ranges::count_if(all, [](BufferInfo const& each) { return each.holders != 0; });
    };
    EXPECT_TRUE(eventually([&] {
        if (held.size() > 1) held.pop_back();
        return holders() == std::ssize(held);
    })) << holders();
}

// 1. P stops, and C gives up getting a buffer. 2. P goes on: C's second question crosses the answer
// to the first, of which it keeps nothing.
TEST_P(StoppedStoreTest, memoryOfAnAnswerThatWasGivenUpIsShownAgain) {
    start();
    std::uint64_t const id = put(connect(), std::byte{7});
    Store const client = connect({.timeout = 100ms});
    stop();
    for (unsigned i = 0; i < 2; ++i) {
        CARILLON_EXPECT_ERROR((void)client.get(id), TimeoutError, "not answered");
    }
    go_on();
    std::optional<Buffer> got;
    ASSERT_TRUE(eventually([&] {
        try {
            got = client.get(id);
        } catch (TimeoutError const&) {  // this machine is busy
        }
        return got.has_value();
    }));
    EXPECT_EQ(last_byte(*got), std::byte{7});
    got.reset();
    EXPECT_EQ(last_byte(connect().get(id)), std::byte{7});
}

// C keeps one memory that no buffer has. 1. A maker has a buffer in memory that C keeps. 2. P
// stops: the maker seals it, and C, which releases another buffer, forgets the memory. 3. P goes
// on: it reads the first before the second.
TEST_P(StoppedStoreTest, memoryThatIsForgottenAsItsNextBufferComesIsShownAgain) {
    start();
    Store const maker = connect();
    SealedBuffers there =
        connect({.timeout = patience, .kept_bytes = some_bytes * 3 / 2}).sealed_buffers();
    std::uint64_t const before = put(maker, std::byte{1});
    std::optional<Buffer> first = there.next(patience);
    ASSERT_TRUE(first);
    maker.remove(before);
    first.reset();
    // Buffers in the memory of the first, once P has heard that nobody holds it.
    std::vector<Buffer> made;
    ASSERT_TRUE(eventually([&] {
        made.push_back(maker.create("", some_bytes));
        HostMirror const left(made.back(), {.write_back = false});
        return !shows_memory_once() || left.data().back() == std::byte{1};
    }));
    Buffer& second = made.back();
    (void)put(maker, std::byte{3});
    std::optional<Buffer> third = there.next(patience);
    ASSERT_TRUE(third);
    stop();
    SleepyThread const seals([&] {
        second.write(std::vector(some_bytes, std::byte{2}));
        (void)second.seal();
    });
    EXPECT_TRUE(seals.comes_to_sleep());
    third.reset();
    go_on();
    auto const next = there.next(patience);
    ASSERT_TRUE(next);
    EXPECT_EQ(last_byte(*next), std::byte{2});
    EXPECT_EQ(there.missed(), 0U);
}

// 1. P stops, and a thread of C's asks for a buffer. 2. Another thread releases its buffers,
// without waiting for the first thread or for P. 3. P goes on: it answers, and hears of the
// release.
TEST_P(StoppedStoreTest, buffersAreLetGoWhileAnotherThreadWaitsForAnAnswer) {
    start();
    Store const other = connect();
    Store const client = connect();
    std::optional<Buffer> held = client.get(put(client, std::byte{1}));
    std::optional<Buffer> open = client.create("open", some_bytes);
    stop();
    {
        SleepyThread const asks(
            [&] { CARILLON_EXPECT_ERROR((void)client.get("none"), RefusedError, "no buffer"); });
        EXPECT_TRUE(asks.comes_to_sleep());
        held.reset();
        open.reset();
        (void)client.why_host_memory();
        go_on();
    }
    EXPECT_TRUE(eventually([&] {
        auto const all = other.list();
        return all.size() == 1 && all.front().holders == 0;
    }));
}

// 1. P lends C two buffers, of which C takes one, and stops. 2. C waits for no more, and not for P
// either. 3. P goes on: nobody holds what C has not taken.
TEST_P(StoppedStoreTest, sealedBuffersEndWithoutAnAnswer) {
    start();
    Store const maker = connect();
    std::optional<SealedBuffers> there = connect().sealed_buffers();
    for (unsigned i = 0; i < 2; ++i) (void)put(maker, std::byte{1});
    auto const held = there->next(patience);
    ASSERT_TRUE(held);
    stop();
    std::promise<void> ended;
    {
        std::jthread const goes_on([&] {
            EXPECT_EQ(ended.get_future().wait_for(patience / 3), std::future_status::ready);
            go_on();
        });
        there.reset();
        ended.set_value();
    }
    (void)put(maker, std::byte{2});
    EXPECT_TRUE(eventually([&] {
        auto const all = maker.list();
        return std::accumulate(
                   all.begin(), all.end(), 0U,
                   [](unsigned sum, BufferInfo const& each) { return sum + each.holders; }) == 1;
    }));
    EXPECT_EQ(last_byte(*held), std::byte{1});
}

// 1. P stops, and C hears nothing of its seal(). 2. Nothing is written any more that may be sealed.
// 3. P goes on, and seals it, or cannot since C writes it. 4. C finds out.
TEST_P(StoppedStoreTest, bufferThatMayBeSealedIsNotWritten) {
    start();
    Store const other = connect();
    Store const client = connect({.timeout = 100ms});
    Buffer made = client.create("late", some_bytes);
    made.write(std::vector(some_bytes, std::byte{1}));
    stop();
    CARILLON_EXPECT_ERROR((void)made.seal(), TimeoutError, "not answered");
    std::vector const more(some_bytes, std::byte{2});
    if (shows_memory_once()) {
        CARILLON_EXPECT_ERROR(made.write(more), UsageError, "Buffer::write: the store may");
        CARILLON_EXPECT_ERROR((void)made.mutable_data(), UsageError, "may have sealed");
        CARILLON_EXPECT_ERROR((void)made.device_ptr(), UsageError, "may have sealed");
        CARILLON_EXPECT_ERROR(HostMirror{made}, UsageError, "may have sealed");
    } else {
        made.write(more);
    }
    go_on();
    std::optional<Buffer> got;
    if (shows_memory_once()) {
        ASSERT_TRUE(eventually([&] {
            try {
                got = other.get("late");
            } catch (RefusedError const& error) {
                EXPECT_EQ(error.reason(), RefusalReason::not_sealed);
            }
            return got.has_value();
        }));
        CARILLON_EXPECT_ERROR(made.write(more), UsageError, "may have sealed");
        other.remove("late");  // that it has been does not matter to its maker
    }
    std::optional<Buffer> sealed;
    ASSERT_TRUE(eventually([&] {
        try {
            sealed = made.seal();
        } catch (TimeoutError const&) {  // this machine is busy
        }
        return sealed.has_value();
    }));
    auto const content = shows_memory_once() ? std::byte{1} : std::byte{2};
    EXPECT_EQ(last_byte(got ? *got : other.get("late")), content);
    EXPECT_EQ(last_byte(*sealed), content);
}

TEST_P(StoppedStoreTest, bufferWhoseSealIsRefusedIsWritten) {
    start();
    Store const client = connect();
    Buffer made = client.create("gone", some_bytes);
    connect().remove("gone");
    CARILLON_EXPECT_ERROR((void)made.seal(), RefusedError, "no buffer");
    made.write(std::vector(some_bytes, std::byte{1}));
    EXPECT_EQ(HostMirror(made).data().back(), std::byte{1});
}

}  // namespace
}  // namespace carillon::test
