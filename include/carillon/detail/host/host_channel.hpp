// SPDX-License-Identifier: Apache-2.0
// The CPU's ends of a channel, for clients, and the fate of each request. Nothing here waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "carillon/detail/machine/process_fence.hpp"
#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/detail/protocol/ring_protocol.hpp"
#include "carillon/error.hpp"

namespace carillon::detail {

// A kernel that never drains.
struct AlwaysOpen {
    static void require_open() {}
    static void warm() {}
};

// A channel whose requests are named by sequence numbers. Neither copied nor moved. `Kernel` is the
// client's knowledge of the kernel: its require_open() throws when no more requests may be sent.
template <class Request, class Reply, class Near, class Far, class Kernel = AlwaysOpen>
class HostChannel : public Kernel {
   public:
    // `doorbell`: the word that tells a block with many channels of a request; nullptr: the block
    // polls the ring. `counters`: the channel's counts; nullptr: nobody reads them. If any block
    // serves the channel, the credit of `requests` is counters->taken, because a request whose
    // reply was taken was taken, too.
    HostChannel(RingView const& requests, RingView const& replies, Near near, Far far,
                std::uint64_t* doorbell = nullptr, CounterWords* counters = nullptr,
                ServedBy served_by = ServedBy::one_block, Kernel const& kernel = {})
        : Kernel(kernel),
          requests_(requests, far, near, TailDoorbell(doorbell)),
          counters_(counters == nullptr ? &own_counters_ : counters),
          replies_(replies, near, far),
          kept_(std::make_unique<Kept[]>(requests.capacity)),
          served_by_(served_by) {
        withdraw();
        tell_submitted();
        tell_taken();
    }
    HostChannel& operator=(HostChannel&&) = delete;

    // Sends a request, or returns nothing if as many replies are outstanding as there are slots.
    // Throws what require_open() throws, which it calls after all_answered() has become false for
    // the request; nothing was sent then.
    [[nodiscard]] std::optional<Sequence> try_submit(Request const& request, OutOfLine data) {
        if (places(1) == 0) [[unlikely]] {
            Kernel::require_open();
            stall();
            return {};
        }
        bool pushed = false;
        Sequence const number = announce(1);
        try {
            Kernel::require_open();
            pushed = requests_.try_push(request, data);
        } catch (...) {
            drop_from(number);
            throw;
        }
        submitted(pushed, 1);
        if (!pushed) [[unlikely]] {
            stall();
            return {};
        }
        return number;
    }

    // Sends the first of `count` requests, as many as there is room for, with one fence, and
    // returns how many. The first has the number next(). Throws what try_submit() throws.
    [[nodiscard]] std::size_t try_submit_n(Request const* requests, std::size_t count,
                                           OutOfLine data) {
        std::size_t const most = places(count);
        std::size_t pushed = 0;
        Sequence const first = announce(most);
        try {
            Kernel::require_open();
            pushed = requests_.try_push_n(requests, most, data);
        } catch (...) {
            drop_from(first);
            throw;
        }
        submitted(pushed, most);
        if (pushed < count) stall(pushed == 0);
        return pushed;
    }
    [[nodiscard]] std::uint32_t capacity() const { return requests_.capacity(); }
    // The number that the next request will get.
    [[nodiscard]] Sequence next() const { return requests_.next(); }

    // Takes the reply to request `number`, which is valid, into `reply` if it has arrived.
    [[nodiscard]] bool try_take(Sequence number, Packed<Reply>& reply) {
        if (replies_.next() != number) [[unlikely]]
            return take_out_of_order(number, reply);
        return take_next(reply);
    }

    // Gives a reply up: it is dropped when it arrives.
    void abandon(Sequence number) {
        CounterWords::count(counters_->dropped);
        if (was_received(number)) {
            leave(place(number));
        } else {
            keep(place(number), State::abandoned);
        }
    }

    // Throws UsageError if no reply to `number` is outstanding.
    void require_valid(Sequence number) {
        if (is_outstanding(number)) [[likely]]
            return;
        throw UsageError("no reply is outstanding for this ticket");
    }

    // Touches the same code and data as try_submit() and try_take(), and sends nothing.
    void warm() {
        Kernel::warm();
        requests_.warm();
        replies_.warm();
    }

    // Whether no request is being submitted, and the device has answered every submitted one; any
    // thread may call it. After a change of what open() looks at, and hear_announced(), it knows of
    // all requests that will follow. One block answers requests in order, and the last reply stays
    // in its slot until another request has been submitted; so does a reply that was not taken.
    [[nodiscard]] bool all_answered() const {
        // Relaxed: it is compared with a tag, and needs no order with the line.
        Sequence const last = CounterWords::load(announced_);
        if (served_by_ == ServedBy::any_block) {
            for (Sequence i = CounterWords::load(counters_->taken) + 1; i < last; ++i) {
                if (!replies_.holds(i)) return false;
            }
        }
        return replies_.holds(last);
    }

    // The request whose untaken reply occupies the next one's place; 0: none.
    [[nodiscard]] Sequence untaken() const {
        Kept const& place = kept_[requests_.next() & (requests_.capacity() - 1)];
        return place.state == State::arrived ? place.number : 0;
    }

    // The line in which the next reply will arrive.
    [[nodiscard]] Line const* awaited() const { return replies_.awaited(); }

   private:
    enum class State : std::uint8_t { none, arrived, abandoned };
    // The state of a request whose reply came before other awaited ones, or was given up before it
    // came. A client that takes replies in order has none.
    struct Kept {
        Packed<Reply> reply{};
        Sequence number = 0;
        State state = State::none;
    };

    [[nodiscard]] Kept& place(Sequence number) {
        return kept_[number & (requests_.capacity() - 1)];
    }
    void keep(Kept& place, State state) {
        place.state = state;
        ++kept_count_;
        places_ = 0;
    }
    void leave(Kept& place) {
        place.state = State::none;
        --kept_count_;
    }
    [[nodiscard]] State state_of(Sequence number) {
        return kept_count_ == 0 ? State::none : place(number).state;
    }

    // The number of requests whose replies have not been taken from the ring.
    [[nodiscard]] std::uint64_t outstanding() const { return requests_.next() - replies_.next(); }
    [[nodiscard]] bool was_received(Sequence number) const { return number < replies_.next(); }
    [[nodiscard]] bool is_outstanding(Sequence number) {
        if (number - replies_.next() < outstanding()) return state_of(number) != State::abandoned;
        return was_received(number) && state_of(number) == State::arrived &&
               place(number).number == number;
    }
    // How many of the next `count` requests have a free place for their replies. Looks again if
    // fewer are known.
    [[nodiscard]] std::size_t places(std::size_t count) {
        if (places_ < count) look_for_places(count);
        return places_ < count ? places_ : count;
    }
    [[gnu::noinline]] void look_for_places(std::size_t count) {
        // Outstanding replies always have room in the reply ring, even if nobody ever looks again.
        if (outstanding() + replies_.held() + count > requests_.capacity()) replies_.return_held();
        std::uint64_t const room = requests_.capacity() - outstanding() - replies_.held();
        places_ = static_cast<std::uint32_t>(room);
        if (kept_count_ == 0) [[likely]]
            return;
        places_ = 0;
        auto const most = static_cast<std::uint32_t>(room < count ? room : count);
        while (places_ < most && place(requests_.next() + places_).state == State::none) ++places_;
    }

    // Announces the next `most` requests, and returns the number of the first.
    [[nodiscard]] Sequence announce(std::size_t most) {
        detail::announce(&announced_, requests_.next() - 1 + most);
        return requests_.next();
    }
    // Records that `pushed` of the `most` announced requests were pushed.
    void submitted(std::size_t pushed, std::size_t most) {
        places_ -= static_cast<std::uint32_t>(pushed);
        tell_submitted();
        if (pushed != most) [[unlikely]]
            withdraw();
    }
    // Drops the replies to requests, from request `first` on, that a flush that throws
    // (non-coherent memory) may have sent.
    void drop_from(Sequence first) {
        for (Sequence number = first; number != requests_.next(); ++number) abandon(number);
        tell_submitted();
        withdraw();
    }
    // Announced requests that were not sent will not be sent.
    void withdraw() { CounterWords::store(announced_, requests_.next() - 1); }
    // for monitors
    void tell_submitted() { CounterWords::store(counters_->submitted, requests_.next() - 1); }
    void tell_taken() { CounterWords::store(counters_->taken, replies_.next() - 1); }

    // The ring is full. Each request that finds it full is counted once, however often it is tried.
    [[gnu::noinline]] void stall(bool nothing_sent = true) {
        if (stalled_ != requests_.next()) CounterWords::count(counters_->stalls);
        stalled_ = requests_.next();
        // A reply that was given up and has arrived since leaves its place.
        if (nothing_sent) (void)receive();
    }

    // Takes the next reply, if it has arrived.
    [[nodiscard]] bool take_next(Packed<Reply>& reply) {
        if (!replies_.try_take(reply)) return false;
        tell_taken();
        return true;
    }

    // Takes a reply that came before others that were taken, or comes after some that are awaited.
    [[gnu::noinline]] bool take_out_of_order(Sequence number, Packed<Reply>& reply) {
        if (was_received(number)) {
            reply = place(number).reply;
            leave(place(number));
            return true;
        }
        while (replies_.next() != number) {
            if (!receive()) return false;
        }
        return take_next(reply);
    }

    // Puts the next reply where its ticket's holder will look; returns whether it had arrived.
    [[gnu::noinline]] bool receive() {
        if (outstanding() == 0) return false;
        Sequence const number = replies_.next();
        Packed<Reply> reply;
        if (!take_next(reply)) return false;
        Kept& place = this->place(number);
        if (state_of(number) == State::abandoned) {
            leave(place);
            return true;
        }
        place.reply = reply;
        place.number = number;
        keep(place, State::arrived);
        return true;
    }

    // A call reads the members in this order: all that it reads before its request is stored are in
    // a client's first line, and those for the reply in the third at the latest.
    mutable Sequence announced_ = 0;  // the last request that is sent, or about to be
    std::uint32_t places_ = 0;        // this many more requests have a place for their replies
    std::uint32_t kept_count_ = 0;    // size of kept_, which is not read while this is 0
    Producer<Request, Far, Near, TailDoorbell, OneThread, ToldPages> requests_;
    CounterWords* counters_;  // on a line of its own, only stored to
    Consumer<Reply, Near, Far> replies_;
    std::unique_ptr<Kept[]> kept_;
    Sequence stalled_ = 0;  // the last request that found the ring full
    CounterWords own_counters_{};
    ServedBy served_by_;
};

}  // namespace carillon::detail
