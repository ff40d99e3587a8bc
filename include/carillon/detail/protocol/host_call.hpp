// SPDX-License-Identifier: Apache-2.0
// The protocol of HostService: a device thread sends its request through an MPMC ring to the host,
// and polls a slot in its own memory for the reply.
//
//     memory of the host's side          memory of the device's side
//     +----------------------------+     +---------+---------+-- ... --+---------+
//     | ring of requests           |     | reply 0 | reply 1 |         | reply n |
//     | (mpmc_ring_protocol.hpp)   |     +---------+---------+-- ... --+---------+
//     +----------------------------+       a line each: written far, polled near
//                                        | word 0, word 1, ... word n; next      |
//                                        +---------------------------------------+
//                                          the device's threads claim slots here
//
// detail/protocol/reply_slots.hpp has the slots.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>

#include "carillon/detail/access/access.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/mpmc_ring_protocol.hpp"
#include "carillon/detail/protocol/reply_slots.hpp"

CARILLON_BEGIN_POLICY_CODE
namespace carillon::detail {

// The result of a call to the host.
enum class HostCallResult : std::uint8_t {
    answered,
    timed_out,  // the request was sent: the host may still serve it, and its reply is dropped
    no_room,    // the request was not sent: no reply slot or ring slot was free in time
    failed,     // the host's function threw
};

// The host's answer.
template <class Reply>
struct HostReply {
    std::uint64_t failed;  // 1: there is no value
    Reply value;
};

// The compile-time contract of a request or a reply; the user sees the texts.
template <class T>
CARILLON_HD constexpr void check_host_message() {
    static_assert(std::is_trivially_copyable_v<T>,
                  "carillon: a request to the host, or its reply, must be trivially copyable: its "
                  "bytes cross a bus");
    static_assert(sizeof(HostReply<T>) <= payload_bytes,
                  "carillon: a request to the host, or its reply, must be at most 40 bytes: it "
                  "travels in one line with its sender's number");
}

// A clock, and a way to spend the time after a failed poll: the `polls`th in a row.
template <class C>
concept PollClock = std::copyable<C> && requires(C& clock, std::uint32_t polls) {
    { clock.now_ns() } -> std::same_as<std::uint64_t>;
    clock.idle(polls);
};

// Limits how long a device thread polls. Tests use a narrower count.
template <PollClock Clock, class Count = std::uint32_t>
class PollDeadline {
   public:
    CARILLON_HD PollDeadline(Clock clock, std::uint64_t timeout_ns)
        : timeout_ns_(timeout_ns), clock_(clock) {}

    // Spends a failed poll; returns true after the last one. The time begins with the first poll,
    // and the clock is read now and then.
    [[nodiscard]] CARILLON_HD bool passed() {
        if (polls_ % polls_between_looks == 0) {
            std::uint64_t const now = clock_.now_ns();
            if (polls_ == 0) began_ns_ = now;
            if (now - began_ns_ >= timeout_ns_) return true;
            // Otherwise the count would wrap before the next look, and the time would begin again.
            if (polls_ == last_look) polls_ -= polls_between_looks;
        }
        clock_.idle(++polls_);
        return false;
    }

   private:
    static constexpr Count polls_between_looks = 16;
    static constexpr Count last_look = (std::numeric_limits<Count>::max)() / 16 * 16;

    std::uint64_t timeout_ns_;
    std::uint64_t began_ns_ = 0;
    Count polls_ = 0;
    Clock clock_;
};

// A device thread's end that sends requests without waiting for replies.
template <class Request, FarAccess Far, ClaimAccess Near>
class BasicHostPoster {
   public:
    CARILLON_HD explicit BasicHostPoster(MpmcRingView const& requests, Far far = Far(),
                                         Near near = Near())
        : requests_(requests, far, near) {
        check_host_message<Request>();
    }

    // Sends `request` and returns true, or returns false at once if there is no room. The host
    // serves it in turn and drops the function's result. `data` says that the request refers to
    // memory that this thread has written.
    CARILLON_HD bool post(Request const& request, OutOfLine data = OutOfLine::none) {
        return try_send({ReplyAddress::nowhere, 0}, request, data);
    }

   protected:
    CARILLON_HD bool try_send(ReplyAddress reply_to, Request const& request, OutOfLine data) {
        return requests_.try_push({reply_to, request}, true, data);
    }

   private:
    LanesProducer<AddressedRequest<Request>, Far, Near, OneThread> requests_;
};

// A device thread's end that also waits for replies. Every thread uses its own copy.
template <class Request, class Reply, FarAccess Far, ClaimAccess Near, PollClock Clock>
class BasicHostCaller : public BasicHostPoster<Request, Far, Near> {
   public:
    CARILLON_HD BasicHostCaller(MpmcRingView const& requests, ReplySlots const& reply_slots,
                                Clock clock = Clock(), Far far = Far(), Near near = Near())
        : BasicHostPoster<Request, Far, Near>(requests, far, near),
          slot_(reply_slots, near),
          clock_(clock) {
        check_host_message<Reply>();
    }

    // Has the host serve `request`, and stores its answer in `reply`, which stays unchanged unless
    // the result is `answered`. Polls for at most `timeout_ns` of the device's clock; with 0 it
    // looks once. For `data` see post(). Data that the reply refers to may be read after this call
    // if the host said so (HostServiceOptions::replies).
    CARILLON_HD HostCallResult call(Request const& request, Reply& reply, std::uint64_t timeout_ns,
                                    OutOfLine data = OutOfLine::none) {
        PollDeadline<Clock> deadline(clock_, timeout_ns);
        while (!slot_.try_claim()) {
            if (deadline.passed()) return HostCallResult::no_room;
        }
        while (!this->try_send(slot_.address(), request, data)) {
            if (!deadline.passed()) continue;
            slot_.take_back();
            return HostCallResult::no_room;
        }
        using Answer = HostReply<Reply>;
        Packed<Answer> answer;
        while (!slot_.template look<Answer>(answer)) {
            // Polls once more: a reply may have come while the clock was read.
            if (!deadline.passed()) continue;
            if (slot_.template look<Answer>(answer)) break;
            slot_.give_up();
            return HostCallResult::timed_out;
        }
        slot_.give_back();
        if (unpack<std::uint64_t>(answer) != 0) return HostCallResult::failed;
        // It is not assigned, because it may have const members.
        ::new (static_cast<void*>(__builtin_addressof(reply))) Reply(unpack<Answer>(answer).value);
        return HostCallResult::answered;
    }

   private:
    ReplySlotClaim<Near> slot_;
    Clock clock_;
};

// The host's end: the thread that serves requests answers them in any order.
template <FarAccess Far>
class HostReplyWriter : ReplyWriter<Far> {
   public:
    using ReplyWriter<Far>::ReplyWriter;

    // `data` says that the reply refers to data.
    template <class Reply>
    void answer(ReplyAddress to, Reply const& value, OutOfLine data = OutOfLine::none) const {
        ReplyWriter<Far>::answer(to, HostReply<Reply>{0, value}, data);
    }
    // The CPU stores whole lines, so every awaited quad gets the tag.
    void fail(ReplyAddress to) const { ReplyWriter<Far>::answer(to, std::uint64_t{1}); }
};

}  // namespace carillon::detail
CARILLON_END_POLICY_CODE
