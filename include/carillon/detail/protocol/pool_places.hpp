// SPDX-License-Identifier: Apache-2.0
// The channels of a SharedPool, which all its blocks serve: any free block takes any client's next
// request.
//
// A channel belongs to one client, in its own memory (lease.hpp), with the usual two rings. The
// block that moves the lease's word `taken`, which no client can access, from n - 1 to n takes
// request n; its reply goes to slot n of the replies. A kernel's only block takes every request,
// and does not use that word. So replies come in any order, each in the slot that the client polls
// for it.
//
//     client: request n into its slot               block: all tags are n? then taken: n - 1 -> n
//     client: polls slot n of the replies           the block that did it: handler; reply n
//
// There is no credit. A client sends request n only when it has taken reply n - capacity
// (HostChannel). By then both slots are free, and a block needs no room for a reply. A client that
// violates this spoils only its own messages: a block looks at a slot and goes on.
//
// If blocks looked at all clients in turn, they would do so in step, and each client would wait for
// half a turn (on a GPU 8 clients took twice as long as one). Therefore the clients are distributed
// evenly: each is at home in some blocks. A block also looks at strangers, the other clients, now
// and then, because their blocks may be busy.
#pragma once

#include <cstdint>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/detail/protocol/lease.hpp"
#include "carillon/detail/protocol/message_lines.hpp"

CARILLON_BEGIN_POLICY_CODE
namespace carillon::detail {

// The most clients that a pool has in other processes.
inline constexpr unsigned most_pool_places = 64;

// A request that a block has taken, and the place of its reply.
template <class Request>
struct PoolRequest {
    Packed<Request> message;
    Line* reply;
    Tag number;
    Tag previous;  // of the reply slot's old content
};

// A block looks at a client that is not at home, and at the leases, once in so many sweeps: powers
// of two. Tests have others.
struct PoolSweeps {
    std::uint32_t per_stranger = 16;
    std::uint32_t per_look = 16;
};

// A block's end of all places, for one thread.
template <class Request, class Reply, ClaimAccess Near, FarAccess Far,
          PoolSweeps sweeps = PoolSweeps{}>
class PoolPlaces {
   public:
    using Taken = PoolRequest<Request>;

    CARILLON_HD PoolPlaces(LeaseTable const& leases, unsigned places, unsigned block,
                           Near near = Near(), Far far = Far())
        : leases_(leases), places_(places), block_(block), near_(near), far_(far) {}

    // Takes a client's request, or returns false at once if it found none. It looks once at each
    // client that is at home, beginning behind the last one served. Now and then it first looks at
    // the next stranger.
    CARILLON_HD bool try_take(Taken& taken) {
        std::uint32_t const sweep = sweeps_++;
        bool const look = sweep % sweeps.per_look == 0;
        if (look) look_at_leases();
        if (homes_ < served_ && sweep % sweeps.per_stranger == 0) {
            do stranger_ = stranger_ + 1 < served_ ? stranger_ + 1 : 0;
            while (stranger_ % leases_.servers == first_home_);
            if (try_take(channels_[stranger_], taken, look)) return true;
        }
        for (std::uint32_t i = 0; i < homes_; ++i) {
            Channel& channel = channels_[home_];
            home_ += leases_.servers;
            if (home_ >= served_) home_ = first_home_;
            if (try_take(channel, taken, look)) return true;
        }
        return false;
    }

    // P1, pairs with C1: data that the reply refers to are complete before it, if `data` says so.
    // The reply leaves now (H2), since its client waits.
    CARILLON_HD void answer(Taken const& taken, Packed<Reply> const& reply, OutOfLine data) const {
        if (data == OutOfLine::written) far_.release();
        detail::store_message<Reply>(far_, taken.reply, with_tag(reply, taken.number),
                                     taken.previous);
        far_.commit(taken.reply, sizeof(Packed<Reply>));
    }

   private:
    // The channel of one client.
    struct Channel {
        Sequence next;  // the request that this block awaits; others may have taken it
        Line* slot;     // the slot of that request
        Sequence* taken;
        RingSlots requests;
        RingSlots replies;
        std::uint32_t place;
    };
    CARILLON_HD bool try_take(Channel& channel, Taken& taken, bool keep) {
        Packed<Request> message;
        Tag const awaited = tag_of(channel.next);
        if (!detail::load_message<Request>(near_, channel.slot, awaited, message)) [[likely]] {
            // Other blocks are so far ahead that the slot has a later request.
            Tag const there = detail::tag_in_sight<Request>(message);
            // Their position is a hint: T7 decides.
            if (!alone() && static_cast<std::int32_t>(there - awaited) > 0) [[unlikely]]
                move(channel, near_.load_word(channel.taken) + 1);
            if (keep) detail::keep_message<Request>(near_, message);
            return false;
        }
        // T7, pairs with P3: the claim depends on the loads that found every tag, so all of the
        // message was loaded before. Once another block has claimed it the client may write there
        // again, and the loaded message may be mixed; but then the claim fails. A block that is
        // alone takes each of its requests, and saves the round trip to memory.
        Sequence const before =
            alone() ? channel.next - 1
                    : near_.compare_exchange(channel.taken, channel.next - 1, channel.next);
        bool const mine = before == channel.next - 1;
        if (mine) {
            taken.message = message;
            taken.reply = channel.replies.slot(channel.next);
            taken.number = awaited;
            taken.previous = tag_of(channel.next - channel.replies.capacity);
        }
        move(channel, mine ? channel.next + 1 : before + 1);
        return mine;
    }

    // Whether no other block serves these clients.
    [[nodiscard]] CARILLON_HD bool alone() const { return leases_.servers == 1; }

    CARILLON_HD static void move(Channel& channel, Sequence next) {
        channel.next = next;
        channel.slot = channel.requests.slot(next);
    }

    // T6, pairs with T5: the numbers are loaded after their news.
    CARILLON_HD void look_at_leases() {
        std::uint64_t const news = near_.load_word(leases_.news);
        if (news == news_) [[likely]]
            return;
        news_ = news;
        CARILLON_SELDOM
        for (unsigned place = 0; place < places_; ++place) {
            LeaseReader<Near, Far> const lease(leases_, place, near_, far_, block_);
            std::uint64_t const number = lease.number();
            if (number == seen_[place]) continue;
            seen_[place] = number;
            if (is_leased(number)) {
                add(place, lease);
            } else {
                remove(place);
                lease.report_free(number);
            }
        }
        find_homes();
    }
    template <class Lease>
    CARILLON_HD void add(unsigned place, Lease const& lease) {
        ChannelView const view = lease.place().channel(0);
        Channel channel{0, nullptr, lease.taken(), view.requests, view.replies, place};
        // After the number, like the place (T2): what others have taken of it by now, or less.
        move(channel, near_.load_word(channel.taken) + 1);
        // In the order of places, so that all blocks agree on the homes.
        std::uint32_t at = served_++;
        for (; at != 0 && channels_[at - 1].place > place; --at) channels_[at] = channels_[at - 1];
        channels_[at] = channel;
    }

    CARILLON_HD void remove(unsigned place) {
        std::uint32_t kept = 0;
        for (std::uint32_t i = 0; i < served_; ++i) {
            if (channels_[i].place != place) channels_[kept++] = channels_[i];
        }
        served_ = kept;
    }

    // With fewer clients than blocks, blocks share a client; with more, each block has several.
    CARILLON_HD void find_homes() {
        first_home_ =
            served_ == 0 ? 0 : block_ % (served_ < leases_.servers ? served_ : leases_.servers);
        homes_ = served_ == 0 ? 0 : 1 + (served_ - 1 - first_home_) / leases_.servers;
        home_ = first_home_;
        stranger_ = first_home_;
    }

    LeaseTable leases_;
    unsigned places_;
    unsigned block_;
    Near near_;
    Far far_;
    std::uint32_t sweeps_ = 0;
    std::uint32_t served_ = 0;      // clients known to be leased
    std::uint32_t homes_ = 0;       // clients that are at home here:
    std::uint32_t first_home_ = 0;  // the first one, and every leases_.servers-th from there;
    std::uint32_t home_ = 0;        // the next to look at
    std::uint32_t stranger_ = 0;    // the stranger that was looked at last
    std::uint64_t news_ = 0;
    std::uint64_t seen_[most_pool_places] = {};  // the last number of each place
    Channel channels_[most_pool_places];         // those that are leased
};

}  // namespace carillon::detail
CARILLON_END_POLICY_CODE
