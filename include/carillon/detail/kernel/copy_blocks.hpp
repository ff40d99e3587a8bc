// SPDX-License-Identifier: Apache-2.0
// The kernels of DeviceReader and DeviceWriter: blocks that copy on request between device memory
// and host memory.
//
// The first warp takes a request, all threads of the block copy, and one thread reports the end. A
// reader's few bytes return in the lines of the reply instead, each a message that needs no fence;
// only the first warp reads them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/block.hpp"
#include "carillon/detail/kernel/block_control.hpp"
#include "carillon/detail/machine/device_copy.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/endpoints.hpp"
#include "carillon/detail/protocol/ring_protocol.hpp"

namespace carillon::detail {

struct CopyRequest {
    std::uint64_t from;  // addresses of the device, in its memory or the host's
    std::uint64_t to;    // 0: the reply's lines
    std::uint64_t size;  // bytes, over 0
};

// 48 bytes that were read, or the report of a copy.
struct CopyReply {
    unsigned char bytes[payload_bytes];
};

[[nodiscard]] CARILLON_HD constexpr std::uint32_t lines_for(std::uint64_t size) {
    return static_cast<std::uint32_t>((size + payload_bytes - 1) / payload_bytes);
}

// The warp that communicates with the host. Every lane has the same counters and sees every
// request; only the first lane reports the block's state.
template <VotingGroup Lanes = WarpLanes, NearAccess Near = DeviceNear, QuadAccess Far = DeviceFar,
          class Control = BlockControl>
class CopyWarp {
   public:
    CARILLON_HD CopyWarp(ChannelView const& view, Control const& control, Lanes lanes = Lanes(),
                         Near near = Near(), Far far = Far())
        : requests_(view.requests, near, far, lanes),
          replies_(view.replies, far, near, NoDoorbell(), lanes),
          control_(control),
          lanes_(lanes) {}

    // Call it first, and only in this warp: if a second warp chose pages, the host would write to
    // pages that this warp does not poll.
    CARILLON_HD void report_started() {
        requests_.choose_pages();
        if (is_leader(lanes_)) control_.report_started();
    }
    CARILLON_HD void report_ended() {
        if (is_leader(lanes_)) control_.report_ended();
    }

    // Answers requests until one needs the whole block, and stores it in `work`; size 0: it is time
    // to end.
    CARILLON_HD void serve_until_work(CopyRequest& work) {
        CopyRequest request{};
        bool look_at_stop = overdue();
        for (;;) {
            if (look_at_stop && stop_now()) {
                request.size = 0;
                break;
            }
            // Like in serve(), only polls come between two looks at the ring.
            std::uint32_t const polls = control_.polls_before_rest();
            auto const keep = [&](auto const& message) { request = unpack<CopyRequest>(message); };
            if (!requests_.try_consume_within(
                    polls, [&] { control_.spin(); }, keep)) {
                control_.rest(polls);
                look_at_stop = true;
            } else if (request.to == 0) {
                look_at_stop = !send(request) || overdue();
            } else {
                break;
            }
        }
        if (is_leader(lanes_)) work = request;
    }

    // Reports that the block's copy is complete.
    CARILLON_HD void complete() {
        // R3, pairs with R4: all threads' writes before their barrier come before the answer;
        // otherwise the reader of the answer, or of a later message, could find older content.
        while (!replies_.try_push(CopyReply{}, OutOfLine::written)) {
            if (stop_now()) return;
            control_.idle();
        }
    }

   private:
    // Sends the bytes in as many lines as they fill; false when it is time to end.
    CARILLON_HD bool send(CopyRequest const& request) {
        auto const* const from = reinterpret_cast<unsigned char const*>(request.from);
        auto const words_of = [&](std::size_t quad) {
            constexpr std::size_t quad_bytes = payload_words_per_quad * sizeof(std::uint32_t);
            std::size_t const offset = quad * quad_bytes;
            return device_copy::load_words(from + offset,
                                           offset < request.size ? request.size - offset : 0);
        };
        while (!replies_.try_push_quads(lines_for(request.size), words_of)) {
            if (stop_now()) return false;
            control_.idle();
        }
        return true;
    }

    // Whether the last look at the stop word is a while ago.
    CARILLON_HD bool overdue() {
        bool const due = control_.busy();
        return lanes_.any(is_leader(lanes_) && due);
    }
    CARILLON_HD bool stop_now() { return lanes_.any(is_leader(lanes_) && control_.stop_now()); }

    Consumer<CopyRequest, Near, Far, Lanes, NearPages> requests_;
    Producer<CopyReply, Far, Near, NoDoorbell, Lanes> replies_;
    Control control_;
    Lanes lanes_;
};

struct CopyBlocks : KernelBlocks {
    // Runs all threads of block `index`; `Copy` copies with all of them.
    template <class Copy>
    CARILLON_HD void run(unsigned index) const {
        ChannelView const view = channels.channel(index);
        CopyWarp<> warp(view, control(view));
        auto& shared = block::shared<CopyRequest, CopyBlocks>();
        bool const leads = block::thread_rank() < WarpLanes::size();
        if (leads) warp.report_started();
        for (;;) {
            if (leads) warp.serve_until_work(shared);
            // R2, pairs with R1: the first warp's acquire comes before the barrier, and the barrier
            // before the loads of every thread.
            block::sync({"carillon/detail/kernel/copy_blocks.hpp", __LINE__});
            CopyRequest const work = shared;
            if (work.size == 0) break;
            Copy::copy(reinterpret_cast<void*>(work.to), reinterpret_cast<void const*>(work.from),
                       work.size);
            block::sync({"carillon/detail/kernel/copy_blocks.hpp", __LINE__});
            if (leads) warp.complete();
        }
        if (leads) warp.report_ended();
    }
};

struct ReaderBody {
    CopyBlocks blocks;

    CARILLON_HD void operator()(unsigned index) const { blocks.run<device_copy::Push>(index); }
};
template <>
inline constexpr unsigned most_threads_of<ReaderBody> = 1024;

struct WriterBody {
    CopyBlocks blocks;

    CARILLON_HD void operator()(unsigned index) const { blocks.run<device_copy::Pull>(index); }
};
template <>
inline constexpr unsigned most_threads_of<WriterBody> = 512;

}  // namespace carillon::detail
