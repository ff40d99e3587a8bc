// SPDX-License-Identifier: Apache-2.0
// The CPU's ends of a channel and what became of each request. Nothing here waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "carillon/detail/protocol/ring.hpp"
#include "carillon/error.hpp"

namespace carillon {

// Requests are known by their sequence numbers.
template <class Request, class Reply, class Near, class Far>
class HostChannel {
   public:
    // `doorbell`: where a block that watches many channels hears of a request; nullptr where it
    // polls the ring itself.
    HostChannel(RingView const& requests, RingView const& replies, Near near, Far far,
                std::uint64_t* doorbell = nullptr)
        : requests_(requests, far, near, TailDoorbell(doorbell)),
          replies_(replies, near, far),
          pending_(requests.capacity),
          submitted_(requests.first - 1) {}

    // Sends a request, or returns nothing when as many replies are outstanding as there are slots.
    [[nodiscard]] std::optional<Sequence> try_submit(Request const& request, OutOfLine data) {
        Sequence const number = requests_.next();
        Pending& pending = slot(number);
        // What is outstanding always has room in the reply ring, even if nobody ever looks again.
        if (outstanding() + replies_.held() >= requests_.capacity()) replies_.return_held();
        if (pending.state != State::free || !requests_.try_push(request, data)) {
            (void)receive();  // an abandoned reply that has come in the meantime frees its slot
            return {};
        }
        pending.sequence = number;
        pending.state = State::awaited;
        // Relaxed, as in all_answered().
        std::atomic_ref(submitted_).store(number, std::memory_order_relaxed);
        return number;
    }

    // Takes the reply to request `number`, which is valid, into `reply` if it has come.
    [[nodiscard]] bool try_take(Sequence number, Packed<Reply>& reply) {
        Pending& pending = slot(number);
        if (pending.state == State::arrived) {
            reply = pending.reply;
        } else {
            while (replies_.next() != number) {
                if (!receive()) return false;
            }
            if (!replies_.try_take(reply)) return false;
        }
        pending.state = State::free;
        return true;
    }

    // Gives a reply up: it is dropped when it comes.
    void abandon(Sequence number) {
        Pending& pending = slot(number);
        pending.state = pending.state == State::arrived ? State::free : State::abandoned;
    }

    // Throws UsageError, in the name of `call`, when no reply is outstanding to `number`.
    void require_valid(std::string_view call, Sequence number) {
        Pending const& pending = slot(number);
        bool const held = pending.state == State::awaited || pending.state == State::arrived;
        if (!held || pending.sequence != number) {
            throw UsageError(call, "no reply is outstanding for this ticket");
        }
    }

    // Whether the device has answered every request that was submitted; from any thread. It answers
    // them in order, and the last reply stays where it is until another request has been submitted.
    [[nodiscard]] bool all_answered() const {
        // Relaxed: it is compared with a tag, and needs no order with the line.
        return replies_.holds(std::atomic_ref(submitted_).load(std::memory_order_relaxed));
    }

    // The line in which the next reply will come.
    [[nodiscard]] Line const* awaited() const { return replies_.awaited(); }

   private:
    enum class State : std::uint8_t { free, awaited, arrived, abandoned };
    // A request between try_submit and the taking of its reply.
    struct Pending {
        Packed<Reply> reply{};
        Sequence sequence = 0;
        State state = State::free;
    };

    [[nodiscard]] Pending& slot(Sequence number) {
        return pending_[number & (requests_.capacity() - 1)];
    }

    [[nodiscard]] std::uint64_t outstanding() const { return requests_.next() - replies_.next(); }

    // Puts the next reply where its ticket's holder will look for it, and says whether it had come.
    bool receive() {
        if (outstanding() == 0) return false;
        Pending& pending = slot(replies_.next());
        Packed<Reply> reply;
        if (!replies_.try_take(reply)) return false;
        bool const wanted = pending.state == State::awaited;
        if (wanted) pending.reply = reply;
        pending.state = wanted ? State::arrived : State::free;
        return true;
    }

    Producer<Request, Far, Near, TailDoorbell> requests_;
    Consumer<Reply, Near, Far> replies_;
    std::vector<Pending> pending_;
    mutable Sequence submitted_;  // the last one; read by other threads
};

}  // namespace carillon
