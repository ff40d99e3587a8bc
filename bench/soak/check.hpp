// SPDX-License-Identifier: Apache-2.0
// Whether every request of a channel had its reply, once, in its turn, and whole.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/soak_kernels.hpp"

namespace carillon::tool {

struct SoakCounts {
    std::uint64_t commands = 0;    // requests that were sent
    std::uint64_t lost = 0;        // had no reply
    std::uint64_t duplicated = 0;  // replies that were not awaited, and requests served twice
    std::uint64_t reordered = 0;   // replies that came, or requests that were served, out of turn
    std::uint64_t corrupted = 0;   // replies that no request of this channel can have
    std::uint64_t abandoned = 0;   // requests whose reply was given up

    SoakCounts& operator+=(SoakCounts const& other);
    [[nodiscard]] bool nothing_lost() const {
        return lost + duplicated + reordered + corrupted == 0;
    }
    bool operator==(SoakCounts const&) const = default;
};

// Provides the requests of a channel and judges the replies, messages of 1, 2 or 16 lines. Nothing
// here allocates after construction.
template <unsigned lines>
class SoakCheck {
   public:
    // At most `window`, a power of two, numbers lie between the oldest request without a reply and
    // the newest.
    SoakCheck(std::uint64_t channel, std::uint32_t window);

    [[nodiscard]] SoakRequest<lines> const& next() const { return next_; }
    // The next request was sent.
    void sent();
    // The next reply to this request is ignored.
    void abandon(std::uint64_t number);
    // A reply was taken for request `asked`, which was sent within the window.
    void replied(std::uint64_t asked, SoakReply<lines> const& reply);
    // Returns the counts; a request still without reply is lost.
    [[nodiscard]] SoakCounts finish();

   private:
    enum class State : std::uint8_t { done, awaited, abandoned };

    [[nodiscard]] State& at(std::uint64_t number) { return states_[number & (states_.size() - 1)]; }
    // Whether it can be the reply to a request that was sent here.
    [[nodiscard]] bool genuine(SoakReply<lines> const& reply) const;
    // Whether no request between the newest that was answered and `number` awaits its reply.
    [[nodiscard]] bool is_next(std::uint64_t number);
    void check_count(SoakReply<lines> const& reply, bool in_turn);

    std::vector<State> states_;  // of the numbers in the window
    SoakRequest<lines> next_;
    SoakCounts counts_;
    std::uint64_t newest_ = 0;  // of the requests that were answered
    std::uint64_t extra_ = 0;   // how far the handler's count is ahead of the number, modulo 2^64
    bool in_step_ = true;       // extra_ is known: nothing went wrong just before
};

}  // namespace carillon::tool
