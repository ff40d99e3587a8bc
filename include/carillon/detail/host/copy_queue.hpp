// SPDX-License-Identifier: Apache-2.0
// DeviceWriter's queue of copies, cut into pieces: the blocks take pieces in turn, and answer each
// when it is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/kernel/copy_blocks.hpp"
#include "carillon/detail/protocol/ring_protocol.hpp"

namespace carillon::detail {

// Pieces are numbered from 1. Block (n - 1) mod blocks gets piece n, and blocks answer in order, so
// the next awaited answer is always one block's.
template <NearAccess Near, FarAccess Far>
class CopyQueue {
   public:
    using Requests = Producer<CopyRequest, Far, Near, NoDoorbell, OneThread, ToldPages>;
    using Replies = Consumer<CopyReply, Near, Far>;

    // The rings of requests are in the `size` bytes at `where`.
    CopyQueue(Far far, void const* where, std::size_t size)
        : far_(far), where_(where), size_(size) {}

    void add_block(Requests requests, Replies replies) {
        blocks_.push_back({std::move(requests), std::move(replies)});
    }
    [[nodiscard]] std::size_t blocks() const { return blocks_.size(); }

    // Puts a piece into the ring of the block whose turn it is, or returns false if that is full.
    // The CPU's writes before the first of the pieces that leave together come before all of them.
    // The last outstanding piece may have several `answers`.
    [[nodiscard]] bool try_send(CopyRequest const& piece, std::uint32_t answers = 1) {
        // R1, pairs with R2: otherwise the device could copy older content.
        auto const data = released_ ? OutOfLine::none : OutOfLine::written;
        if (!block_of(sent_ + 1).requests.try_push_uncommitted(piece, data)) return false;
        released_ = true;
        more_ = answers - 1;
        ++sent_;
        return true;
    }
    // Makes all pieces leave, with one fence.
    void commit() {
        released_ = false;
        // R5, through H2: the requests leave now, not when a write-combining buffer is evicted.
        far_.commit(where_, size_);
    }

    // True if the block whose turn it is had no room just now.
    [[nodiscard]] bool was_full() { return block_of(sent_ + 1).requests.was_full(); }

    // Takes the answers that have arrived.
    void take_replies() {
        take_replies([](auto const& /*reply*/) {});
    }
    template <class Use>
    void take_replies(Use&& use) {
        // R4, pairs with R3: the loads are acquires, so that copied data are there once an answer
        // has been taken.
        while (done_ != sent_ && block_of(done_ + 1).replies.try_consume(use)) {
            if (done_ + 1 == sent_ && more_ != 0) {
                --more_;
            } else {
                ++done_;
            }
        }
    }
    // Call it when all copies are complete: the first block gets the next piece.
    void begin_again() { sent_ = done_ = 0; }

    // The last sent piece; and the last one known by take_replies() to be complete with all before
    // it.
    [[nodiscard]] std::uint64_t sent() const { return sent_; }
    [[nodiscard]] std::uint64_t done() const { return done_; }

   private:
    struct Block {
        Requests requests;
        Replies replies;
    };

    [[nodiscard]] Block& block_of(std::uint64_t piece) {
        return blocks_[(piece - 1) % blocks_.size()];
    }

    std::vector<Block> blocks_;
    Far far_;
    void const* where_;
    std::size_t size_;
    bool released_ = false;   // since the last commit
    std::uint32_t more_ = 0;  // answers that come before the last piece's last
    std::uint64_t sent_ = 0;
    std::uint64_t done_ = 0;
};

}  // namespace carillon::detail
