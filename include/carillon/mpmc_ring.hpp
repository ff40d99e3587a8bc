// SPDX-License-Identifier: Apache-2.0
// `MpmcRing`, for high rates: a ring between any number of producers and consumers on opposite
// sides of the bus, such as threads and a block of warps. With one thread on each side `Ring` is
// faster.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "carillon/arguments.hpp"
#include "carillon/detail/access/device_near_far.hpp"
#include "carillon/detail/host/argument_checks.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/life_registry.hpp"
#include "carillon/detail/host/mpmc_ring_state.hpp"
#include "carillon/detail/host/owned.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/machine/process_fence.hpp"
#include "carillon/detail/protocol/mpmc_ring_protocol.hpp"
#include "carillon/device.hpp"
#include "carillon/error.hpp"
#include "carillon/ring.hpp"

namespace carillon {

using detail::MpmcRingView;
using detail::ProducerRecord;

struct MpmcRingOptions {
    std::uint32_t capacity = 8192;  // slots; a power of two up to 2^20
    // Slots that a consumer claims at once; a power of two, at most half the capacity. Every
    // consumer holds a stripe, so consumers times stripe must fit into the capacity. To the host,
    // the capacity is at least a stripe and 31 slots, the room for a warp's messages. A warp is
    // fastest with 32 to 128; 1 spreads slow commands best.
    std::uint32_t stripe = 32;
    unsigned producers = 64;  // most host threads that produce at the same time
    // Most host threads that consume at the same time; there must be as many stripes.
    unsigned consumers = 64;
    ForTests for_tests{};
};

// The ends of a warp that takes messages and of a warp that sends them. On a GPU all 32 lanes of
// the warp use the end together. Pass it to a kernel by value: each warp uses its own copy. A warp
// that ends before the ring calls hand_on() last; otherwise the rest of its stripe is lost and the
// ring stays full.
template <class T>
using DeviceMpmcConsumer =
    detail::MpmcConsumer<T, detail::DeviceNear, detail::DeviceFar, detail::WarpLanes, true>;
template <class T>
using DeviceMpmcProducer =
    detail::LanesProducer<T, detail::DeviceFar, detail::DeviceNear, detail::WarpLanes>;

// A host thread's sending end. The thread that uses it makes and destroys it. If the thread ends
// without destroying it, consumers skip the slots that it claimed and did not write. If a flush
// throws (VulkanError, non-coherent memory only), consumers also skip messages of that call that
// have not arrived. Each message arrives at most once; other producers are unaffected.
template <class T>
class HostMpmcProducer {
   public:
    HostMpmcProducer(HostMpmcProducer&&) noexcept = default;
    HostMpmcProducer& operator=(HostMpmcProducer&&) = delete;
    ~HostMpmcProducer() {
        if (state_ && !mark_.inherited()) state_->registry.leave(number_, state_->reclaim);
    }

    // Publishes and returns true, or returns false at once if there is no room. `data` says that
    // the message refers to device memory that this thread has written.
    bool try_push(T const& message, OutOfLine data = OutOfLine::none) {
        return detail::in_call("MpmcRing::try_push", [&] {
            return this->try_push_n({std::addressof(message), 1}, data) == 1;
        });
    }
    // Publishes the first of `messages`, as many as there is room for, with one claim and one
    // fence, and returns how many. Every sending call throws UsageError if the thread that made the
    // end has ended: another producer may have its place.
    std::size_t try_push_n(std::span<T const> messages, OutOfLine data = OutOfLine::none) {
        return detail::in_call("MpmcRing::try_push_n", this, mark_, [&] {
            require_state();
            detail::require_messages(messages);
            if (!has_place()) [[unlikely]]
                detail::throw_maker_ended("producer");
            try {
                return end_.try_push_n(messages.data(), messages.size(), data);
            } catch (...) {
                state_->give_up(number_);
                throw;
            }
        });
    }
    // Publishes, waiting for room, and meanwhile recovers from dead producers. Throws TimeoutError:
    // the message was then not sent.
    void push(T const& message, std::chrono::nanoseconds timeout,
              OutOfLine data = OutOfLine::none) {
        detail::in_call("MpmcRing::push", [&] {
            require_state();
            if (!state_->wait.until([&] { return this->try_push(message, data); }, timeout,
                                    [&] { state_->recover(); })) {
                detail::throw_ring_full(timeout, state_->memory.host_view().capacity);
            }
        });
    }

    // Runs everything that a push runs except claiming and storing, see `Client::warm`.
    void warm() {
        detail::in_call("MpmcRing::warm", this, mark_, [&] {
            require_state();
            end_.warm();
        });
    }

    // False if the thread that made the end was found dead, and after a move.
    [[nodiscard]] bool has_place() const {
        // Relaxed: LifeRegistry.
        return state_ != nullptr && holder_->load(std::memory_order_relaxed) == number_;
    }
    // The producer's number in the ring, and its record of claims.
    [[nodiscard]] unsigned index() const {
        return detail::in_call("MpmcRing::index",
                               [&] { return detail::owned(state_).registry.index(number_); });
    }
    [[nodiscard]] ProducerRecord& record() const {
        return *detail::in_call("MpmcRing::record",
                                [&] { return detail::owned(state_).registry.record(number_); });
    }

   private:
    friend struct detail::MpmcProducerAccess;
    HostMpmcProducer(std::shared_ptr<detail::MpmcRingState> state, std::string_view which)
        : state_(std::move(state)),
          number_(detail::owned(state_).enter(which)),
          holder_(&state_->registry.holder(number_)),
          end_(state_->memory.host_view(), state_->far, detail::HostCached(),
               detail::ClaimRecord(&record())) {}

    // `end_` exists even after a move, but its memory may be freed.
    void require_state() const { (void)detail::owned(state_); }

    detail::ProcessMark mark_;
    std::shared_ptr<detail::MpmcRingState> state_;
    unsigned number_;
    std::atomic<unsigned> const* holder_;
    detail::MpmcProducer<T, HostMapped, detail::HostCached, detail::ClaimRecord> end_;
};

// A host thread's receiving end. The thread that uses it makes and destroys it; another thread may
// use and destroy it while the first thread lives. Movable, not copyable. When the end is
// destroyed, or the thread that made it ends, another consumer continues its stripe: each message
// arrives once.
template <class T>
class HostMpmcConsumer {
   public:
    HostMpmcConsumer(HostMpmcConsumer&&) noexcept = default;
    HostMpmcConsumer& operator=(HostMpmcConsumer&&) = delete;
    ~HostMpmcConsumer() {
        if (!state_ || mark_.inherited()) return;
        state_->consumers.leave(number_, [this](unsigned /*index*/) {
            if (!record_->handed_on) end_.hand_on();
            return true;
        });
    }

    // Takes a few messages that have arrived in this consumer's stripe, and calls use(message,
    // sequence) for each. Returns whether there was any. A message is taken before it is used: if
    // `use` throws, the message is not delivered again, and the next poll continues behind it.
    // Throws UsageError if the thread that made the end has ended: another has its messages.
    template <class Use>
    bool poll(Use&& use) {
        return detail::in_call("MpmcRing::poll", this, mark_, [&] {
            auto& state = detail::owned(state_);
            bool took = false;
            {
                Told const told(*this);
                // Relaxed: LifeRegistry.
                if (holder_->load(std::memory_order_relaxed) != number_) [[unlikely]]
                    detail::throw_maker_ended("consumer");
                took = end_.poll(
                    [&](auto const&... taken) { detail::in_callback([&] { use(taken...); }); });
            }
            if (!took && ++idle_ % polls_per_recovery == 0) state.recover_consumers();
            return took;
        });
    }

    // The number of sequence numbers skipped because their producer died.
    [[nodiscard]] std::uint64_t skipped() const {
        return detail::in_call("MpmcRing::skipped", [&] {
            (void)detail::owned(state_);
            return end_.skipped();
        });
    }

   private:
    template <class Message, Direction direction>
    friend class MpmcRing;
    static constexpr std::uint32_t polls_per_recovery = 4096;

    // Records that the consumer polls, and at the end, even by an exception, what it holds.
    class Told {
       public:
        explicit Told(HostMpmcConsumer& consumer) : consumer_(consumer) {
            // Relaxed: the fence follows.
            consumer_.record_->begin.store(detail::ConsumerRecord::polling,
                                           std::memory_order_relaxed);
            // S11, pairs with S10: before the check whether the thread that made the end lives.
            detail::cpu::ProcessFence::light();
        }
        Told& operator=(Told&&) = delete;
        ~Told() {
            auto& record = *consumer_.record_;
            record.next.store(consumer_.end_.next(), std::memory_order_relaxed);
            record.begin.store(consumer_.end_.begin(), std::memory_order_release);
        }

       private:
        HostMpmcConsumer& consumer_;
    };

    explicit HostMpmcConsumer(std::shared_ptr<detail::MpmcRingState> state)
        : state_(std::move(state)),
          record_(std::make_unique<detail::ConsumerRecord>()),
          number_(state_->enter_consumer(*record_)),
          holder_(&state_->consumers.holder(number_)),
          end_(state_->memory.host_view(), detail::HostCached(), state_->far) {}

    detail::ProcessMark mark_;
    std::shared_ptr<detail::MpmcRingState> state_;
    std::unique_ptr<detail::ConsumerRecord> record_;  // destroyed when its place has been left
    unsigned number_;
    std::atomic<unsigned> const* holder_;
    std::uint32_t idle_ = 0;
    detail::MpmcConsumer<T, detail::HostCached, HostMapped, detail::OneThread, true> end_;
};

// A one-way ring that threads and warps share. `T` is trivially copyable and at most 1 KiB.
template <class T, Direction direction>
class MpmcRing {
   public:
    static constexpr bool to_device = direction == Direction::to_device;
    // The type of device_handle().
    using DeviceEnd = std::conditional_t<to_device, DeviceMpmcConsumer<T>, DeviceMpmcProducer<T>>;
    using HostConsumer = HostMpmcConsumer<T>;

    // Throws UsageError for the options, and what Device::allocate throws.
    explicit MpmcRing(Device const& device, MpmcRingOptions const& options = {}) try
        : state_(std::make_shared<detail::MpmcRingState>(device, options, direction,
                                                         detail::shape_of<T>())) {
    } catch (...) {
        detail::throw_named("MpmcRing");
    }

    MpmcRing(MpmcRing const&) = default;  // and moves: it is a handle, copies share the ring
    MpmcRing& operator=(MpmcRing const&) = default;
    ~MpmcRing() = default;

    // Returns the end of a warp. Pass it to a kernel by value; every warp uses its own copy.
    [[nodiscard]] DeviceEnd device_handle() const {
        return DeviceEnd(state_->memory.device_view());
    }

    // The view for ends of groups of lanes other than a warp.
    [[nodiscard]] MpmcRingView device_view() const { return state_->memory.device_view(); }

    // The calling thread's end. Throws UsageError if MpmcRingOptions::producers threads have one.
    [[nodiscard]] HostMpmcProducer<T> producer() const requires to_device {
        return detail::in_call("MpmcRing::producer",
                               [&] { return detail::MpmcProducerAccess::make<T>(state_); });
    }
    // The calling thread's end. Throws UsageError if MpmcRingOptions::consumers threads have one.
    [[nodiscard]] HostConsumer consumer() const requires(!to_device) {
        return detail::in_call("MpmcRing::consumer", [&] { return HostConsumer(state_); });
    }

    // To the device, lets consumers skip slots that dead producers claimed and did not write; to
    // the host, lets consumers continue the stripes of dead consumers. Returns how many had died.
    // HostMpmcProducer::push and HostMpmcConsumer::poll do this now and then.
    unsigned recover() {
        return detail::in_call("MpmcRing::recover", state_->mark, [&] {
            return to_device ? state_->recover() : state_->recover_consumers();
        });
    }

    // Both are in slots, see `MpmcRingOptions`.
    [[nodiscard]] std::uint32_t capacity() const { return state_->memory.host_view().capacity; }
    [[nodiscard]] std::uint32_t stripe() const { return state_->memory.host_view().stripe(); }

   private:
    std::shared_ptr<detail::MpmcRingState> state_;
};

}  // namespace carillon
