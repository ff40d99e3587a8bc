// SPDX-License-Identifier: Apache-2.0
// Long messages that the lanes of a warp share out, with threads for the lanes.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "carillon/detail/access/device_near_far.hpp"
#include "carillon/detail/kernel/serve_long.hpp"
#include "support/ring_memory.hpp"
#include "support/sized.hpp"
#include "support/thread_lanes.hpp"

namespace carillon::test {
using namespace detail;
namespace {

// Lanes whose `most` is their number, on which a lane's share of a message depends.
template <unsigned count>
struct Together : LockStep {
    static constexpr unsigned most = count;
    Together() : LockStep(count) {}
};
template <unsigned count>
using LanesOf = VotingLanes<Together<count>>;

template <unsigned count, class Body>
void run_all(Body const& body) {
    Together<count> step;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < count; ++i) {
        threads.emplace_back([&, i] { body(LanesOf<count>(step, i)); });
    }
    for (std::thread& thread : threads) thread.join();
}

template <class T>
[[nodiscard]] carillon::detail::SharedMessage<T> shared(T const& message) {
    carillon::detail::SharedMessage<T> shared{};
    std::memcpy(shared.bytes, &message, sizeof(T));
    return shared;
}

// A message goes from one ring to another, over `laps` laps; every lane has a part of it.
template <unsigned count, std::size_t size>
void expect_taken_and_pushed(Sequence first) {
    using T = SizedBytes<size>;
    using Lanes = LanesOf<count>;
    constexpr std::uint64_t messages = 6;
    RingMemory in(4, first, slot_lines_of<T>);
    RingMemory out(2, first, slot_lines_of<T>);
    carillon::detail::SharedMessage<T> passed{};
    std::atomic<int> wrong{0};
    std::atomic<std::size_t> times_put{0};
    run_all<count>([&](Lanes const& lane) {
        Producer<T, DeviceFar, DeviceNear> before(in.view());
        Consumer<T, DeviceNear, DeviceFar> behind(out.view());
        Consumer<T, DeviceNear, DeviceFar, Lanes> takes(in.view(), DeviceNear(), DeviceFar(), lane);
        Producer<T, DeviceFar, DeviceNear, NoDoorbell, Lanes> puts(
            out.view(), DeviceFar(), DeviceNear(), NoDoorbell(), lane);
        bool const leads = lane.thread_rank() == 0;
        auto const put = [&](std::size_t i, Quad const& quad) {
            ++times_put;
            passed.put(i, quad);
        };
        auto const words_of = [&](std::size_t i) { return passed.words_of(i); };
        for (std::uint64_t i = 0; i < messages; ++i) {
            wrong += takes.try_take_quads(put) ? 1 : 0;  // there is none
            lane.sync();
            if (leads) wrong += before.try_push(T::make(i)) ? 0 : 1;
            lane.sync();
            wrong += takes.try_take_quads(put) ? 0 : 1;
            lane.sync();
            wrong += passed.message() == T::make(i) ? 0 : 1;
            wrong += puts.try_push_shared_out(words_of, OutOfLine::written) ? 0 : 1;
            lane.sync();
            T message{};
            if (leads) wrong += behind.try_pop(message) && message == T::make(i) ? 0 : 1;
            if (leads) behind.return_held();
            lane.sync();
        }
        takes.return_held();
    });
    EXPECT_EQ(wrong, 0) << count << " lanes, " << size << " bytes";
    EXPECT_EQ(times_put, messages * quads_of<T>);  // nothing twice
    EXPECT_EQ(in.credit(), first - 1 + messages);
}

template <unsigned count>
void expect_all_sizes() {
    expect_taken_and_pushed<count, 1>(1);
    expect_taken_and_pushed<count, 56>(just_below_the_tags_wrap);
    expect_taken_and_pushed<count, 97>(1);
    expect_taken_and_pushed<count, 256>(just_below_the_tags_wrap);
    expect_taken_and_pushed<count, 1000>(1);
    expect_taken_and_pushed<count, 1024>(just_below_the_tags_wrap);
}

// More quads than lanes, as many, and fewer.
TEST(LongLanesTest, everyLaneTakesAndStoresItsQuads) {
    expect_all_sizes<1>();
    expect_all_sizes<3>();
    expect_all_sizes<5>();
    expect_taken_and_pushed<8, 56>(just_below_the_tags_wrap);
    expect_taken_and_pushed<8, 256>(1);
}

// Catches lanes that go by their own quads: the message would be taken in parts.
TEST(LongLanesTest, nothingIsTakenWhileAnyQuadIsMissing) {
    using T = SizedBytes<256>;
    using Lanes = LanesOf<3>;
    RingMemory ring(2, 1, slot_lines_of<T>);
    Packed<T> const whole = pack(T::make(6), 1);
    Line* const slot = &ring.slot(0);
    std::atomic<int> early{0};
    std::atomic<int> taken{0};
    run_all<3>([&](Lanes const& lane) {
        Consumer<T, DeviceNear, DeviceFar, Lanes> takes(ring.view(), DeviceNear(), DeviceFar(),
                                                        lane);
        auto const nowhere = [](std::size_t, Quad const&) {};
        for (std::size_t missing = 0; missing < quads_of<T>; ++missing) {
            if (lane.thread_rank() == 0) {
                for (std::size_t i = 0; i < lines_of<T>; ++i) slot[i] = lines_in(whole)[i];
                Quad& quad = slot[missing / 4].quads[missing % 4];
                quad = with_tag(slot[missing / 4], tag_of(Sequence{1} - 2)).quads[missing % 4];
            }
            lane.sync();
            early += takes.try_take_quads(nowhere) ? 1 : 0;
            lane.sync();
        }
        if (lane.thread_rank() == 0) slot[lines_of<T> - 1] = lines_in(whole)[lines_of<T> - 1];
        lane.sync();
        taken += takes.try_take_quads(nowhere) ? 1 : 0;
    });
    EXPECT_EQ(early, 0);
    EXPECT_EQ(taken, 3);
}

TEST(LongLanesTest, fullRingRefusesAndCreditComesBack) {
    using T = SizedBytes<768>;
    using Lanes = LanesOf<3>;
    RingMemory ring(2, 1, slot_lines_of<T>);
    auto const message = shared(T::make(4));
    std::atomic<int> wrong{0};
    run_all<3>([&](Lanes const& lane) {
        Producer<T, DeviceFar, DeviceNear, NoDoorbell, Lanes> puts(
            ring.view(), DeviceFar(), DeviceNear(), NoDoorbell(), lane);
        Consumer<T, DeviceNear, DeviceFar, Lanes> takes(ring.view(), DeviceNear(), DeviceFar(),
                                                        lane);
        auto const push = [&] {
            return puts.try_push_shared_out([&](std::size_t i) { return message.words_of(i); });
        };
        auto const nowhere = [](std::size_t, Quad const&) {};
        wrong += push() ? 0 : 1;
        wrong += push() ? 0 : 1;
        wrong += puts.was_full() ? 0 : 1;
        wrong += push() ? 1 : 0;
        lane.sync();
        wrong += takes.try_take_quads(nowhere) ? 0 : 1;
        lane.sync();
        // All credit comes back when nothing has come for a while.
        wrong += takes.try_take_quads(nowhere) ? 0 : 1;
        for (std::uint32_t i = 0; i < decltype(takes)::misses_before_return; ++i) {
            wrong += takes.try_take_quads(nowhere) ? 1 : 0;
        }
        lane.sync();
        wrong += push() ? 0 : 1;
        wrong += push() ? 0 : 1;
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(ring.credit(), 2U);
}

// Catches a message at an address that its type may not have.
TEST(LongLanesTest, messageOfAnOverAlignedTypeIsAligned) {
    struct alignas(64) Wide {
        std::uint64_t word[16];
    };
    carillon::detail::SharedMessages<Wide, Wide> messages{};
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&messages.request.message()) % 64, 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&messages.reply.message()) % 64, 0U);
}

}  // namespace
}  // namespace carillon::test
