// SPDX-License-Identifier: Apache-2.0
// A kernel that never stops and whose blocks share one ring: whichever is free takes the next
// request. Any number of host threads ask, and replies come in any order.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "carillon/block.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/kernel_host.hpp"
#include "carillon/detail/host/one_thread.hpp"
#include "carillon/detail/host/owned.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/kernel/handler.hpp"
#include "carillon/detail/kernel/serve.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/reply_places.hpp"
#include "carillon/error.hpp"
#include "carillon/launch.hpp"
#include "carillon/persistent_kernel.hpp"
#include "carillon/shared_ring.hpp"
#include "carillon/ticket.hpp"
#include "carillon/wait.hpp"

namespace carillon {

struct PooledKernelOptions {
    // capacity is that of the ring. There are no channels: channels_per_block is 1, express and
    // placement are off.
    PersistentKernelOptions kernel{};
    unsigned clients = 64;       // host threads that ask at the same time, at most
    std::uint32_t replies = 64;  // outstanding of a client, at most
    // How many requests a block takes at a time, a power of two. 1 spreads them best. With 32 to
    // 128, and a handler of one thread, the lanes of a warp each serve some: the highest rates, but
    // a request may wait for those that were taken with it.
    std::uint32_t stripe = 1;
};

// Names a request that was submitted, for whoever waits for its reply: at the client that gave it,
// once. No two are the same.
class PoolTicket {
   public:
    // `serial` counts the requests of client `issuer`; `slot` is where it keeps what it knows of
    // this one.
    PoolTicket(std::uint64_t issuer, std::uint64_t serial, std::uint32_t slot)
        : issuer_(issuer), serial_(serial), slot_(slot) {}
    [[nodiscard]] std::uint64_t issuer() const { return issuer_; }
    [[nodiscard]] std::uint64_t serial() const { return serial_; }
    [[nodiscard]] std::uint32_t slot() const { return slot_; }
    bool operator==(PoolTicket const&) const = default;

   private:
    std::uint64_t issuer_;
    std::uint64_t serial_;
    std::uint32_t slot_;
};

namespace detail {

template <class Handler, class Request, class Reply>
struct PoolBody {
    ChannelTable blocks;  // for each one a channel, of which it uses the control and status lines
    SharedRingView requests;
    ReplyPlaces places;
    Handler handler;
    BlockLimits limits;
    bool oversubscribed;

    CARILLON_HD void operator()(unsigned block) const {
        using Asked = AddressedRequest<Request>;
        constexpr bool alone = threads_of<Handler>() == 1;
        ChannelView const view = blocks.channel(block);
        auto control = limits.control(view, DeviceClock(oversubscribed));
        ReplyWriter<DeviceFar> const replies(places);
        Handler own = handler;
        auto const handle = [&](Asked const& asked) -> Reply { return own(asked.value); };
        auto const answer = [&](Asked const& asked, Reply const& reply) {
            replies.answer(asked.reply_to, reply, out_of_line_of<Handler>());
            return true;
        };
        if (requests.stripe() == 1) {
            SharedConsumer<Asked, DeviceNear, DeviceFar, OneThread> ring(requests);
            auto const take = [&](Asked& asked) {
                return ring.poll([&](Asked const& next, Sequence /*number*/) { asked = next; });
            };
            using Threads = std::conditional_t<alone, OneThread, BlockThreads>;
            serve_by_turns<Asked>(control, Threads(), take, handle, answer);
        } else if constexpr (alone) {
            SharedConsumer<Asked, DeviceNear, DeviceFar, WarpLanes> ring(requests);
            sweep_until_stopped(control, WarpLanes(), [&] {
                return ring.poll([&](Asked const& next, Sequence /*number*/) {
                    (void)answer(next, handle(next));
                });
            });
        }
    }
};

// What a client is at, for whoever has to know when its thread has died.
struct alignas(64) ClientRecord {
    std::atomic<std::uint32_t> sends_at =
        0;  // 1 more than the place whose request it sends; 0: none
    std::atomic<Sequence> claimed_before = 0;  // ProducerRecord::end, before it does
};

// What a pooled kernel and its clients have in common. Each client has places of its own for
// replies, so that they are known when its thread has died.
class PoolState {
   public:
    // Throws UsageError for what the options cannot be with a handler of so many threads.
    PoolState(Device const& device, PooledKernelOptions const& options, unsigned threads);
    PoolState(PoolState const&) = delete;
    PoolState& operator=(PoolState const&) = delete;

    [[nodiscard]] std::shared_ptr<ChannelMemory> const& blocks() const { return blocks_; }
    [[nodiscard]] std::shared_ptr<SharedRingState> const& ring() const { return ring_; }
    [[nodiscard]] std::uint32_t capacity() const { return ring_->memory.on_host().capacity; }
    [[nodiscard]] HostWait const& wait() const { return wait_; }
    [[nodiscard]] ReplyPlaces places_on_host() const { return places_at(places_.host()); }
    [[nodiscard]] ReplyPlaces places_on_device() const { return places_at(places_.device()); }
    // Of each client: as many places as it may have replies outstanding.
    [[nodiscard]] std::uint32_t replies() const { return replies_; }
    [[nodiscard]] std::uint32_t first_place(unsigned client) const { return client * replies_; }
    [[nodiscard]] ClientRecord& record(unsigned client) { return records_[client]; }

    // Whether every request that was sent has its reply; from any thread.
    [[nodiscard]] bool all_answered() const;
    // Gives up what clients whose threads have died had outstanding, and were at. Takes a lock.
    void recover() { (void)ring_->recover(); }

    [[nodiscard]] KernelHost& kernel() const { return *kernel_; }
    void own(std::shared_ptr<KernelHost> kernel) { kernel_ = std::move(kernel); }

   private:
    [[nodiscard]] ReplyPlaces places_at(void* begin) const;
    void bury(unsigned client);
    // Whether the request that a dead client was sending has been sent.
    [[nodiscard]] bool was_sent(unsigned client) const;

    std::uint32_t replies_;
    std::uint32_t count_;
    std::shared_ptr<ChannelMemory> blocks_;
    Memory places_;  // in host memory: the device writes lines, clients claim
    std::vector<ClientRecord> records_;
    std::shared_ptr<SharedRingState> ring_;
    HostWait wait_;
    std::shared_ptr<KernelHost> kernel_;  // goes first: the memory outlives it
};

}  // namespace detail

// A host thread's end: made, used and let go by that thread. Replies are taken in any order.
template <class Request, class Reply>
class PoolClient {
   public:
    explicit PoolClient(std::shared_ptr<detail::PoolState> state)
        : state_(std::move(state)),
          producer_(detail::owned(state_, "PooledKernel::client").ring(), "PooledKernel::client",
                    "clients of the kernel are in use (PooledKernelOptions::clients)"),
          record_(&state_->record(producer_.index())) {
        std::uint32_t const replies = state_->replies();
        slots_.reserve(replies);
        free_.reserve(replies);
        for (std::uint32_t i = 0; i < replies; ++i) {
            slots_.emplace_back(state_->places_on_host(),
                                state_->first_place(producer_.index()) + i);
            free_.push_back(replies - 1 - i);
        }
        record_->sends_at.store(0, std::memory_order_relaxed);
    }
    PoolClient(PoolClient&&) noexcept = default;
    PoolClient& operator=(PoolClient&&) = delete;
    PoolClient(PoolClient const&) = delete;
    PoolClient& operator=(PoolClient const&) = delete;
    // What is outstanding is given up, with its end of the ring.
    ~PoolClient() = default;

    // Sends a request and waits for its reply. Throws TimeoutError when none came within `timeout`,
    // which says whether the request was sent: it may still be served then, and its reply is
    // dropped. Throws StoppedError after a stop, CudaError when the kernel died. `data` as
    // for Channel::call.
    [[nodiscard]] Reply call(Request const& request, std::chrono::nanoseconds timeout,
                             OutOfLine data = OutOfLine::none) {
        constexpr std::string_view call = "PoolClient::call";
        detail::OneThreadCall<> const one(this, call);
        Slot* slot = try_send(call, request, data);
        auto left = timeout;
        if (slot == nullptr) {
            Deadline const deadline(timeout);
            slot = &send(call, request, timeout, data);
            left = deadline.left();
        }
        try {
            return await(call, *slot, left);
        } catch (...) {
            give_up(*slot);
            throw;
        }
    }

    // Sends a request and returns at once, or returns nothing: the ring is full, or as many replies
    // are outstanding as a client may have.
    [[nodiscard]] std::optional<PoolTicket> try_submit(Request const& request,
                                                       OutOfLine data = OutOfLine::none) {
        constexpr std::string_view call = "PoolClient::try_submit";
        detail::OneThreadCall<> const one(this, call);
        Slot const* const slot = try_send(call, request, data);
        if (slot == nullptr) return {};
        return ticket_of(*slot);
    }

    // The same, waiting for room. Throws TimeoutError; the request was not sent then.
    [[nodiscard]] PoolTicket submit(Request const& request, std::chrono::nanoseconds timeout,
                                    OutOfLine data = OutOfLine::none) {
        constexpr std::string_view call = "PoolClient::submit";
        detail::OneThreadCall<> const one(this, call);
        return ticket_of(send(call, request, timeout, data));
    }

    // The reply to a request, if it has come. Throws UsageError for a ticket of another client, and
    // when no reply is outstanding for it.
    [[nodiscard]] std::optional<Reply> try_take(PoolTicket ticket) {
        constexpr std::string_view call = "PoolClient::try_take";
        detail::OneThreadCall<> const one(this, call);
        Line line;
        if (!try_take(valid(call, ticket), line)) return {};
        return unpack<Reply>(line);
    }

    // The same, waiting for it. After a TimeoutError the ticket is still good.
    [[nodiscard]] Reply wait(PoolTicket ticket, std::chrono::nanoseconds timeout) {
        constexpr std::string_view call = "PoolClient::wait";
        detail::OneThreadCall<> const one(this, call);
        return await(call, valid(call, ticket), timeout);
    }

    // Gives a reply up: it is dropped when it comes.
    void abandon(PoolTicket ticket) {
        constexpr std::string_view call = "PoolClient::abandon";
        detail::OneThreadCall<> const one(this, call);
        give_up(valid(call, ticket));
    }

   private:
    // A reply that is outstanding, or room for one.
    struct Slot {
        Slot(ReplyPlaces const& places, std::uint32_t own) : place(places, own) {}
        PlaceClaim<HostCached, true> place;
        std::uint64_t awaited = 0;  // serial of the request whose reply it is for; 0: none
    };

    [[nodiscard]] Slot& valid(std::string_view call, PoolTicket ticket) {
        mark_.require_own(call);
        if (ticket.issuer() != issuer_) [[unlikely]]
            throw UsageError(call, "the ticket is another client's");
        if (ticket.slot() < slots_.size()) {
            Slot& slot = slots_[ticket.slot()];
            if (slot.awaited == ticket.serial() && slot.awaited != 0) return slot;
        }
        throw UsageError(call, "no reply is outstanding for this ticket");
    }

    [[nodiscard]] std::uint32_t index_of(Slot const& slot) const {
        return static_cast<std::uint32_t>(&slot - slots_.data());
    }
    [[nodiscard]] PoolTicket ticket_of(Slot const& slot) const {
        return PoolTicket(issuer_, slot.awaited, index_of(slot));
    }

    // Of these three `call` is what the user called, for errors; the first returns nullptr where it
    // did not send.
    [[nodiscard]] Slot* try_send(std::string_view call, Request const& request, OutOfLine data) {
        mark_.require_own(call);
        detail::owned(state_, call).kernel().require_open(call);
        full_ = detail::NoRoom::client;
        if (!claim()) return nullptr;
        Slot& slot = slots_[free_.back()];
        bool const sent = push(slot, request, data);
        if (!sent) slot.place.take_back();  // whoever buries this client is not to see it as sent
        record_->sends_at.store(0, std::memory_order_relaxed);
        if (!sent) {
            full_ = detail::NoRoom::pool;
            return nullptr;
        }
        free_.pop_back();
        slot.awaited = ++submitted_;
        return &slot;
    }

    // A flush that throws (non-coherent memory) may have sent it: its reply is dropped.
    [[nodiscard]] bool push(Slot& slot, Request const& request, OutOfLine data) {
        try {
            return producer_.try_push({slot.place.address(), request}, data);
        } catch (...) {
            slot.place.give_up();
            record_->sends_at.store(0, std::memory_order_relaxed);
            throw;
        }
    }

    // Takes the place of a slot, the last of `free_` then; false where late replies are under way
    // to all of them. What is sent from there is on record before.
    [[nodiscard]] bool claim() {
        for (std::size_t i = free_.size(); i-- > 0;) {
            Slot& slot = slots_[free_[i]];
            record_->claimed_before.store(producer_.record().end, std::memory_order_relaxed);
            record_->sends_at.store(slot.place.address().place + 1, std::memory_order_relaxed);
            if (slot.place.try_claim_own()) {
                std::swap(free_[i], free_.back());
                return true;
            }
        }
        return false;
    }

    [[nodiscard]] Slot& send(std::string_view call, Request const& request,
                             std::chrono::nanoseconds timeout, OutOfLine data) {
        Slot* slot = nullptr;
        auto const sent = [&] { return (slot = try_send(call, request, data)) != nullptr; };
        if (!wait_for(sent, timeout, call)) {
            bool const own = full_ == detail::NoRoom::client;
            detail::throw_not_sent(call, full_, own ? state_->replies() : state_->capacity());
        }
        return *slot;
    }

    [[nodiscard]] Reply await(std::string_view call, Slot& slot, std::chrono::nanoseconds timeout) {
        Line line;
        auto const taken = [&] { return try_take(slot, line); };
        if (!wait_for(taken, timeout, call)) detail::throw_no_reply(call);
        return unpack<Reply>(line);
    }

    [[nodiscard]] bool try_take(Slot& slot, Line& line) {
        if (!slot.place.look(line)) return false;
        slot.place.give_back();
        leave(slot);
        return true;
    }

    // Its place is the last to be tried: the reply is still to come.
    void give_up(Slot& slot) {
        slot.place.give_up();
        leave(slot);
        std::rotate(free_.begin(), free_.end() - 1, free_.end());
    }

    void leave(Slot& slot) {
        slot.awaited = 0;
        free_.push_back(index_of(slot));
    }

    // Meanwhile, what clients that died had is given up.
    template <class Poll>
    bool wait_for(Poll&& poll, std::chrono::nanoseconds timeout, std::string_view call) {
        return detail::owned(state_, call).wait().until(poll, timeout, [&] {
            state_->kernel().require_alive(call);
            state_->recover();
        });
    }

    std::shared_ptr<detail::PoolState> state_;
    HostSharedProducer<AddressedRequest<Request>> producer_;
    detail::ClientRecord* record_;
    detail::ProcessMark mark_;
    std::uint64_t issuer_ = detail::new_ticket_issuer();
    std::uint64_t submitted_ = 0;  // the last one's serial
    detail::NoRoom full_{};        // what had no room the last time
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_;  // of slots_
};

// `Handler` as for PersistentKernel; its request is at most 40 bytes. Every block, or lane, has a
// copy of it, and which one serves a request is not said.
template <class Handler, class Request = detail::RequestOf<Handler>,
          class Reply = detail::ReplyOf<Handler>,
          detail::Toolchain toolchain = detail::this_toolchain>
class PooledKernel {
   public:
    // As PersistentKernel's.
    explicit PooledKernel(Device const& device, PooledKernelOptions const& options = {},
                          Handler handler = {})
        : state_(
              std::make_shared<detail::PoolState>(device, options, detail::threads_of<Handler>())) {
        static_assert(std::is_trivially_copyable_v<Handler>,
                      "carillon: a handler must be trivially copyable: it is passed to the kernel "
                      "by value");
        using Body = detail::PoolBody<Handler, Request, Reply>;
        PersistentKernelOptions const& kernel = options.kernel;
        unsigned const threads =
            options.stripe > 1 ? lanes_per_warp : detail::threads_of<Handler>();
        bool const oversubscribed = device.oversubscribed(kernel.blocks);
        Body const body{state_->blocks()->on_device(),
                        state_->ring()->memory.on_device(),
                        state_->places_on_device(),
                        handler,
                        detail::block_limits(kernel, device.traits()),
                        oversubscribed};
        state_->own(detail::KernelHost::make(device, state_->blocks(), kernel, "PooledKernel"));
        state_->kernel().run(
            launch<Body, toolchain>(device, LaunchShape{kernel.blocks, threads}, body));
    }

    // Every call of one that was moved from throws UsageError.
    PooledKernel(PooledKernel&&) noexcept = default;
    PooledKernel& operator=(PooledKernel&&) = delete;
    PooledKernel(PooledKernel const&) = delete;
    PooledKernel& operator=(PooledKernel const&) = delete;
    // Stops the kernel, waiting for at most options.kernel.stop_timeout; never throws.
    ~PooledKernel() {
        if (state_) state_->kernel().end();
    }

    // The calling thread's end. It may outlive the kernel. Throws UsageError when
    // PooledKernelOptions::clients have one.
    [[nodiscard]] PoolClient<Request, Reply> client() const {
        return PoolClient<Request, Reply>(state_);
    }

    // As PersistentKernel's. A block counts as busy while any request is unanswered.
    [[nodiscard]] KernelState state() const { return host("PooledKernel::state").state(); }
    [[nodiscard]] BlockActivity activity(unsigned block = 0) const {
        host("PooledKernel::activity").require_block("activity", block);
        return state_->kernel().activity(block, !state_->all_answered());
    }
    [[nodiscard]] unsigned blocks() const { return host("PooledKernel::blocks").blocks(); }
    [[nodiscard]] unsigned multiprocessor(unsigned block = 0) const {
        return host("PooledKernel::multiprocessor").multiprocessor(block);
    }
    void drain(std::chrono::nanoseconds timeout) {
        auto const answered = [this] {
            if (state_->all_answered()) return true;
            state_->recover();  // the dead send no more
            return false;
        };
        host("PooledKernel::drain").drain(answered, timeout);
    }
    void stop(std::chrono::nanoseconds timeout = std::chrono::seconds(5)) {
        host("PooledKernel::stop").stop(timeout);
    }
    [[nodiscard]] bool running() const { return host("PooledKernel::running").running(); }

   private:
    [[nodiscard]] detail::KernelHost& host(std::string_view call) const {
        return detail::owned(state_, call).kernel().of_this_process(call);
    }

    std::shared_ptr<detail::PoolState> state_;
};

}  // namespace carillon
