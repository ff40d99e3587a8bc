// SPDX-License-Identifier: Apache-2.0
// The end of a `Client` of a pool: its requests travel through a ring that all clients share, and
// its replies come in any order.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/message_of.hpp"
#include "carillon/detail/host/owned.hpp"
#include "carillon/detail/host/pool_state.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/machine/process_fence.hpp"
#include "carillon/detail/machine/x86.hpp"
#include "carillon/detail/protocol/reply_slots.hpp"
#include "carillon/error.hpp"
#include "carillon/mpmc_ring.hpp"
#include "carillon/ticket.hpp"
#include "carillon/wait.hpp"

namespace carillon {
struct Pool;  // kernel_options.hpp
}  // namespace carillon

namespace carillon::detail {

template <class Way, class Request, class Reply>
class ClientEnd;  // client_channel.hpp

// The end for a Pool. Movable, not assignable.
template <class Request, class Reply>
class ClientEnd<Pool, Request, Reply> {
    // A reply that is outstanding, or room for one.
    struct Slot {
        Slot(ReplySlots const& reply_slots, std::uint32_t own) : claim(reply_slots, own) {}
        ReplySlotClaim<HostCached, true> claim;
        std::uint64_t awaited = 0;  // number of the request that the reply is for; 0: none
    };

   public:
    using Sent = Slot*;

    [[nodiscard]] static MessageOf<Request> request() { return {}; }

    // Throws UsageError if Pool::clients clients exist already.
    explicit ClientEnd(std::shared_ptr<PoolState> state)
        : state_(std::move(state)),
          producer_(MpmcProducerAccess::make<AddressedRequest<Request>>(
              owned(state_).ring(), "clients of the kernel are in use (Pool::clients)")),
          record_(&state_->record(producer_.index())) {
        std::uint32_t const replies = state_->replies();
        slots_.reserve(replies);
        free_.reserve(replies);
        for (std::uint32_t i = 0; i < replies; ++i) {
            slots_.emplace_back(state_->host_reply_slots(),
                                state_->first_slot(producer_.index()) + i);
            free_.push_back(replies - 1 - i);
        }
        // Relaxed, here and below: a dead thread's mutex orders it (ClientRecord).
        record_->sends_at.store(0, std::memory_order_relaxed);
    }
    ClientEnd(ClientEnd&&) noexcept = default;
    ClientEnd& operator=(ClientEnd&&) = delete;
    ~ClientEnd() = default;

    void require_own() const { mark_.require_own(); }
    // Also gives up requests of dead clients.
    void require_alive() const {
        require_place();
        state_->kernel().require_alive();
        state_->recover();
    }
    [[nodiscard]] bool answers() const {
        return producer_.has_place() && state_->kernel().answers();
    }
    [[nodiscard]] HostWait const& wait_style() const { return owned(state_).wait(); }

    // Throws StoppedError if the kernel accepts no more requests; nothing was sent then.
    [[nodiscard]] std::optional<Sent> try_submit(Request const& request, OutOfLine data) {
        KernelSupervisor const& kernel = owned(state_).kernel();
        require_place();
        full_ = NoRoom::client;
        if (!claim()) {
            kernel.require_open();
            return {};
        }
        Slot& slot = slots_[free_.back()];
        // The claim announces the request: PoolState::all_answered() looks at it.
        bool const open = is_open(kernel);
        bool const sent = open && push(slot, request, data);
        if (!sent) slot.claim.take_back();  // recovery must not see it as sent
        record_->sends_at.store(0, std::memory_order_relaxed);
        if (!open) [[unlikely]]
            kernel.require_open();
        if (!sent) {
            full_ = NoRoom::pool;
            return {};
        }
        free_.pop_back();
        slot.awaited = ++submitted_;
        return &slot;
    }

    // A client whose thread has ended takes nothing, because the slot may be another's.
    [[nodiscard]] bool try_take(Sent slot, Packed<Reply>& reply) {
        if (!producer_.has_place() || !slot->claim.template look<Reply>(reply)) return false;
        slot->claim.give_back();
        leave(*slot);
        return true;
    }

    // The slot will be tried last, because its reply is still to come.
    void abandon(Sent slot) {
        if (producer_.has_place()) slot->claim.give_up();
        leave(*slot);
        std::rotate(free_.begin(), free_.end() - 1, free_.end());
    }

    // A wait watches no line, because its reply comes among others.
    [[nodiscard]] static Line const* awaited() { return nullptr; }

    // Reads what the next request will claim; its places for replies are the last of free_.
    void warm() {
        cpu::prefetch(&owned(state_).kernel().state_word());
        cpu::prefetch(record_);
        if (!free_.empty()) slots_[free_.back()].claim.warm();
        producer_.warm();
    }

    [[nodiscard]] Ticket ticket(std::uint64_t issuer, Sent slot) const {
        return {issuer, slot->awaited, index_of(*slot)};
    }
    // Throws UsageError if no reply is outstanding for the ticket.
    [[nodiscard]] Sent find(Ticket const& ticket) {
        if (ticket.slot() < slots_.size()) {
            Slot& slot = slots_[ticket.slot()];
            if (slot.awaited == ticket.number() && slot.awaited != 0) return &slot;
        }
        throw UsageError("no reply is outstanding for this ticket");
    }
    [[noreturn]] void throw_not_sent() const {
        bool const own = full_ == NoRoom::client;
        detail::throw_not_sent(full_, own ? state_->replies() : state_->capacity());
    }

   private:
    [[nodiscard]] std::uint32_t index_of(Slot const& slot) const {
        return static_cast<std::uint32_t>(&slot - slots_.data());
    }

    void require_place() const {
        if (!producer_.has_place()) [[unlikely]]
            throw_maker_ended("client");
    }

    // Q1, pairs with Q2: the claim, a locked instruction, comes before the look.
    [[nodiscard]] static bool is_open(KernelSupervisor const& kernel) {
        cpu::ProcessFence::light();
        // Relaxed: see KernelOfClient::require_open.
        return kernel.state_word().load(std::memory_order_relaxed) == KernelState::running;
    }

    // A flush that throws (non-coherent memory) may have sent the request: its reply is dropped.
    [[nodiscard]] bool push(Slot& slot, Request const& request, OutOfLine data) {
        try {
            return producer_.try_push({slot.claim.address(), request}, data);
        } catch (...) {
            slot.claim.give_up();
            record_->sends_at.store(0, std::memory_order_relaxed);
            throw;
        }
    }

    // Takes a slot's place, which becomes the last of `free_`; false if late replies are
    // outstanding for all of them. A request sent from there is recorded before.
    [[nodiscard]] bool claim() {
        for (std::size_t i = free_.size(); i-- > 0;) {
            Slot& slot = slots_[free_[i]];
            record_->claimed_before.store(producer_.record().end, std::memory_order_relaxed);
            record_->sends_at.store(slot.claim.address().slot + 1, std::memory_order_relaxed);
            if (slot.claim.try_claim_own()) {
                std::swap(free_[i], free_.back());
                return true;
            }
        }
        return false;
    }

    void leave(Slot& slot) {
        slot.awaited = 0;
        free_.push_back(index_of(slot));
    }

    ProcessMark mark_;
    std::shared_ptr<PoolState> state_;
    HostMpmcProducer<AddressedRequest<Request>> producer_;
    ClientRecord* record_;
    std::uint64_t submitted_ = 0;  // the last request's number
    NoRoom full_{};                // the parts that had no room the last time
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_;  // free indices of slots_
};

}  // namespace carillon::detail
