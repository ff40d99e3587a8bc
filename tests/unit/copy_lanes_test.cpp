// SPDX-License-Identifier: Apache-2.0
// The warp of a DeviceReader or a DeviceWriter, with a few threads in lock step for its lanes.
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "carillon/detail/kernel/copy_blocks.hpp"
#include "support/eventually.hpp"
#include "support/paired_ring.hpp"
#include "support/ring_memory.hpp"
#include "support/thread_lanes.hpp"

namespace carillon::test {
using namespace detail;
namespace {

using detail::CopyReply;
using detail::CopyRequest;

// The first lane does the host's part between two turns.
class CopyLanesTest : public testing::Test {
   protected:
    [[nodiscard]] ChannelView view() {
        return {requests_.view(), replies_.view(), &control_, &status_};
    }
    [[nodiscard]] BlockControl control() {
        return BlockControl(&control_, &status_, 0, DeviceClock(true));
    }
    void ask(std::string const& text, std::uint64_t to) {
        CopyRequest const request{reinterpret_cast<std::uint64_t>(text.data()), to, text.size()};
        ASSERT_TRUE(host_requests_.try_push(request));
    }
    // All that has been sent.
    [[nodiscard]] std::string answers() {
        std::string text;
        CopyReply reply{};
        while (host_replies_.try_pop(reply)) {
            text.append(reinterpret_cast<char const*>(reply.bytes), payload_bytes);
        }
        return text;
    }
    [[nodiscard]] bool all_slots_written() {
        Sequence const last = replies_.view().first + replies_.view().capacity - 1;
        return has_arrived(DeviceNear().load_line(replies_.view().slot(last)), tag_of(last));
    }
    void stop() { DeviceFar().store_word(&control_.stop, 1); }

    RingMemory requests_{8};
    RingMemory replies_{8, just_below_the_tags_wrap};
    ControlLine control_{};
    StatusLine status_{};
    Producer<CopyRequest, DeviceFar, DeviceNear> host_requests_{requests_.view()};
    Consumer<CopyReply, DeviceNear, DeviceFar> host_replies_{replies_.view()};
};

TEST_F(CopyLanesTest, lanesSendWhatIsAskedForInLines) {
    std::string const few = "twelve bytes and a few more";
    std::string const many(3 * payload_bytes + 5, 'x');
    std::string const elsewhere = "for the whole block";
    ask(few, 0);
    ask(many, 0);
    ask(elsewhere, 1);
    CopyRequest work{};
    run_lanes(3, [&](ThreadLanes const& lane) {
        detail::CopyWarp<ThreadLanes> warp(view(), control(), lane);
        warp.report_started();
        warp.serve_until_work(work);
        lane.sync();
        if (lane.thread_rank() == 0) {
            EXPECT_EQ(work.from, reinterpret_cast<std::uint64_t>(elsewhere.data()));
            std::string const answer = answers();
            EXPECT_EQ(answer.size(), 5 * payload_bytes);
            EXPECT_EQ(answer.substr(0, few.size()), few);
            EXPECT_EQ(answer.substr(payload_bytes, many.size()), many);
            EXPECT_EQ(requests_.credit(), 2U);  // the third is under way
            stop();
        }
        lane.sync();
        warp.complete();
        warp.serve_until_work(work);
        warp.report_ended();
    });
    EXPECT_EQ(work.size, 0U);
    EXPECT_EQ(answers().size(), payload_bytes);
    EXPECT_EQ(status_.ended, static_cast<std::uint64_t>(EndReason::told));
}

// Catches a lane that waits for room when the others have seen the stop.
TEST_F(CopyLanesTest, lanesThatWaitForRoomEndTogether) {
    std::string const all(8 * payload_bytes, 'y');
    ask(all, 0);
    ask(all, 0);
    CopyRequest work{};
    std::thread host([&] {
        EXPECT_TRUE(eventually([&] { return all_slots_written(); }));
        stop();
    });
    run_lanes(3, [&](ThreadLanes const& lane) {
        detail::CopyWarp<ThreadLanes> warp(view(), control(), lane);
        warp.report_started();
        warp.serve_until_work(work);
    });
    host.join();
    EXPECT_EQ(work.size, 0U);
    EXPECT_EQ(answers(), all);
}

// Catches a choice by every warp of a block: where it is another than the first one's, requests go
// where that one does not look.
TEST_F(CopyLanesTest, warpThatDoesNotServeTellsNoPage) {
    PairedRing requests(8, 2);
    ChannelView const paired{requests.view(), replies_.view(), &control_, &status_};
    detail::CopyWarp<OneThread> const other(paired, control());
    EXPECT_EQ(requests.told().front(), 0U);
    detail::CopyWarp<OneThread> serves(paired, control());
    serves.report_started();
    EXPECT_NE(requests.told().front() & known_pages, 0U);
}

}  // namespace
}  // namespace carillon::test
