// SPDX-License-Identifier: Apache-2.0
// The kernel of DeviceReader: blocks that send device memory to the host on request.
//
// Few bytes come back in the lines of the reply, each a message that needs no fence; the first
// warp reads them alone. For many, all threads of every block copy their share to host memory, and
// one thread of each block says that its share is there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "carillon/block.hpp"
#include "carillon/detail/kernel/block_control.hpp"
#include "carillon/detail/machine/device_copy.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/detail/protocol/ring.hpp"

namespace carillon::detail {

struct ReadRequest {
    std::uint64_t from;  // the device's address
    std::uint64_t to;    // the device's address of host memory; 0: the reply's lines
    std::uint64_t size;  // bytes, over 0
};

// 48 bytes of what was read, or, of a share that was copied, nothing.
struct ReadReply {
    unsigned char bytes[payload_bytes];
};

[[nodiscard]] CARILLON_HD constexpr std::uint32_t lines_for(std::uint64_t size) {
    return static_cast<std::uint32_t>((size + payload_bytes - 1) / payload_bytes);
}

// The warp that talks to the host. Every lane has the same counters and sees every request; the
// first one alone returns credits and tells how the block is.
template <VotingGroup Lanes = WarpLanes>
class ReaderWarp {
   public:
    CARILLON_HD ReaderWarp(ChannelView const& view, BlockControl const& control)
        : requests_(view.requests),
          replies_(view.replies),
          next_request_(view.requests.first),
          next_reply_(view.replies.first),
          room_(view.replies.capacity),
          control_(control) {}

    CARILLON_HD void report_started() {
        if (leads()) control_.report_started();
    }
    CARILLON_HD void report_ended() {
        if (leads()) control_.report_ended();
    }

    // Answers until a request needs the whole block, and puts that into `work`; size 0 when it is
    // time to end.
    CARILLON_HD void serve_until_work(ReadRequest& work) {
        ReadRequest request{};
        bool stopping = false;
        while (!stopping) {
            if (try_take(request)) {
                if (request.to != 0) break;
                stopping = !send(request);
                return_credit();
                control_.busy();
            } else {
                control_.idle();
            }
            stopping = stopping || should_stop();
        }
        if (stopping) request.size = 0;
        if (leads()) work = request;
    }

    // Tells that what the block copied is there.
    CARILLON_HD void complete() {
        if (!await_room(1)) return;
        if (leads()) {
            // P1 of detail/protocol/ring.hpp, for what all threads wrote before the block's
            // barrier.
            far_.release();
            far_.store_line(replies_.slot(next_reply_), pack(ReadReply{}, tag_of(next_reply_)), 0);
        }
        advance(1);
        return_credit();
    }

   private:
    [[nodiscard]] CARILLON_HD static bool leads() { return Lanes::thread_rank() == 0; }

    // C1, in every lane: each reads on its own what the request names. The lanes' loads of one
    // address are one access as a rule; where they are not, all wait for the last.
    CARILLON_HD bool try_take(ReadRequest& request) {
        Line const line = near_.load_line(requests_.slot(next_request_));
        if (!Lanes::all(has_arrived(line, tag_of(next_request_)))) return false;
        request = unpack<ReadRequest>(line);
        ++next_request_;
        return true;
    }

    // C2, a quarter of the ring at a time: the host has one read under way.
    CARILLON_HD void return_credit() {
        if (((next_request_ - 1) & (requests_.capacity / 4 - 1)) != 0) return;
        if (leads()) far_.store_word(requests_.credit, next_request_ - 1);
    }

    // The bytes, in as many lines as they fill; the lanes store a quad each.
    CARILLON_HD bool send(ReadRequest const& request) {
        constexpr std::size_t quad_bytes = payload_words_per_quad * sizeof(std::uint32_t);
        std::uint32_t const lines = lines_for(request.size);
        if (!await_room(lines)) return false;
        auto const* const from = reinterpret_cast<unsigned char const*>(request.from);
        for (std::size_t i = Lanes::thread_rank(); i < lines * quads_per_line; i += Lanes::size()) {
            std::size_t const offset = i * quad_bytes;
            auto const words = device_copy::load_words(
                from + offset, offset < request.size ? request.size - offset : 0);
            Sequence const line = next_reply_ + i / quads_per_line;
            Quad quad;
            quad.low = words.word[0] | (std::uint64_t{words.word[1]} << 32);
            quad.high = words.word[2] | (std::uint64_t{tag_of(line)} << 32);
            DeviceInstructions::store_relaxed(&replies_.slot(line)->quads[i % quads_per_line],
                                              quad);
        }
        advance(lines);
        return true;
    }

    CARILLON_HD void advance(std::uint32_t lines) {
        next_reply_ += lines;
        room_ -= lines;
        // Where nobody waits for it.
        if (room_ < replies_.capacity / 2) look_at_credit();
    }

    // P3; false when it is time to end.
    CARILLON_HD bool await_room(std::uint32_t lines) {
        while (Lanes::any(room_ < lines)) {
            look_at_credit();
            if (should_stop()) return false;
            control_.idle();
        }
        return true;
    }

    CARILLON_HD void look_at_credit() {
        Sequence const taken = near_.load_word(replies_.credit);
        room_ = replies_.capacity - static_cast<std::uint32_t>(next_reply_ - 1 - taken);
    }

    CARILLON_HD bool should_stop() { return Lanes::any(leads() && control_.should_stop()); }

    RingView requests_;
    RingView replies_;
    Sequence next_request_;
    Sequence next_reply_;
    std::uint32_t room_;  // slots of the reply ring known to be free
    BlockControl control_;
    DeviceNear near_;
    DeviceFar far_;
};

struct ReaderBody {
    ChannelTable channels;
    BlockLimits limits;
    bool oversubscribed;

    CARILLON_HD void operator()(unsigned index) const {
        ChannelView const view = channels.channel(index);
        ReaderWarp<> warp(view, limits.control(view, DeviceClock(oversubscribed)));
        ReadRequest own{};
        ReadRequest& shared = block::shared(own);
        bool const leads = block::thread() < WarpLanes::size();
        if (leads) warp.report_started();
        for (;;) {
            if (leads) warp.serve_until_work(shared);
            block::barrier();
            ReadRequest const work = shared;
            if (work.size == 0) break;
            device_copy::copy(reinterpret_cast<void*>(work.to),
                              reinterpret_cast<void const*>(work.from), work.size);
            block::barrier();
            if (leads) warp.complete();
        }
        if (leads) warp.report_ended();
    }
};

}  // namespace carillon::detail
