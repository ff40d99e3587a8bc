// SPDX-License-Identifier: Apache-2.0
// A ring that many threads and many warps share: any number of producers and of consumers, on
// opposite sides of the bus. For one thread on each side, Ring has the shorter way; for rates,
// this one: a block of warps takes what one thread or many push.
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

#include "carillon/detail/access/device.hpp"
#include "carillon/detail/host/checks.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/mpmc_ring_state.hpp"
#include "carillon/detail/host/owned.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/producer_registry.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/machine/process_fence.hpp"
#include "carillon/detail/protocol/mpmc_ring.hpp"
#include "carillon/device.hpp"
#include "carillon/error.hpp"
#include "carillon/for_tests.hpp"
#include "carillon/ring.hpp"

namespace carillon {

using detail::MpmcRingView;
using detail::ProducerRecord;

struct MpmcRingOptions {
    std::uint32_t capacity = 8192;  // slots; a power of two up to 2^20
    // Slots that a consumer claims at once; a power of two, at most half the capacity. To the host,
    // the capacity is at least a stripe and 31, room for a warp's messages. Every
    // consumer holds a stripe, so that consumers times stripe have to fit into the capacity. A warp
    // is fastest with 32 to 128; 1 spreads slow commands best.
    std::uint32_t stripe = 32;
    unsigned producers = 64;  // host threads that produce at the same time, at most
    // Host threads that take at the same time, at most; and as many as there are stripes.
    unsigned consumers = 64;
    ForTests for_tests{};
};

// The end of a warp that takes messages, and of one that sends them. On a GPU all 32 lanes of the
// warp use them together; pass them to a kernel by value, for every warp a copy. A warp that ends
// while the ring stays calls hand_on() last: else the rest of its stripe is lost, and the ring
// fills for good.
template <class T>
using DeviceMpmcConsumer =
    detail::MpmcConsumer<T, detail::DeviceNear, detail::DeviceFar, detail::WarpLanes, true>;
template <class T>
using DeviceMpmcProducer =
    detail::LanesProducer<T, detail::DeviceFar, detail::DeviceNear, detail::WarpLanes>;

// A host thread's end that sends: made and let go by the thread that uses it. When that thread ends
// without letting go, the messages that it had claimed room for and not written are skipped. So
// are, where a flush throws (VulkanError, non-coherent memory only), those of that call which have
// not arrived: each arrives at most once, and those of others as ever.
template <class T>
class HostMpmcProducer {
   public:
    HostMpmcProducer(HostMpmcProducer&&) noexcept = default;
    HostMpmcProducer& operator=(HostMpmcProducer&&) = delete;
    HostMpmcProducer(HostMpmcProducer const&) = delete;
    HostMpmcProducer& operator=(HostMpmcProducer const&) = delete;
    ~HostMpmcProducer() {
        if (state_ && !mark_.inherited()) state_->registry.leave(number_, state_->bury);
    }

    // Publishes and returns true, or returns false at once when there is no room. `data` says that
    // the message refers to device memory that this thread has written.
    bool try_push(T const& message, OutOfLine data = OutOfLine::none) {
        return detail::in_call("MpmcRing::try_push", [&] {
            return try_push_n({std::addressof(message), 1}, data) == 1;
        });
    }
    // Publishes the first ones of `messages`, as many as there is room for, in a row: one claim,
    // one fence. Returns how many. Every call that sends throws UsageError when the thread that
    // made the end has ended, and another producer may have its place.
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
    // Publishes, waiting for room if need be, and dealing with producers that have died. Throws
    // TimeoutError; the message was not sent then.
    void push(T const& message, std::chrono::nanoseconds timeout,
              OutOfLine data = OutOfLine::none) {
        detail::in_call("MpmcRing::push", [&] {
            require_state();
            if (!state_->wait.until([&] { return try_push(message, data); }, timeout,
                                    [&] { state_->recover(); })) {
                throw TimeoutError("the ring stayed full");
            }
        });
    }

    // Does what a push does but for claiming and storing: as Client::warm.
    void warm() {
        detail::in_call("MpmcRing::warm", this, mark_, [&] {
            require_state();
            end_.warm();
        });
    }

    // False once the thread that made the end was found dead, and of an end that was moved from.
    [[nodiscard]] bool has_place() const {
        // Relaxed: LifeRegistry.
        return state_ != nullptr && holder_->load(std::memory_order_relaxed) == number_;
    }
    // Which of the ring's producers it is, and what is known of its claims.
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

    // `end_` is there still, in memory that may be gone.
    void require_state() const { (void)detail::owned(state_); }

    detail::ProcessMark mark_;
    std::shared_ptr<detail::MpmcRingState> state_;
    unsigned number_;
    std::atomic<unsigned> const* holder_;
    detail::MpmcProducer<T, HostMapped, detail::HostCached, detail::ClaimRecord> end_;
};

// A host thread's end that takes: made and let go by the thread that uses it, though another thread
// may use it, and let it go, while the first one lives. Moved, not copied. When it goes, or the
// thread that made it ends, another consumer goes on with what it had begun: each message arrives
// once.
template <class T>
class HostMpmcConsumer {
   public:
    HostMpmcConsumer(HostMpmcConsumer&&) noexcept = default;
    HostMpmcConsumer& operator=(HostMpmcConsumer&&) = delete;
    HostMpmcConsumer(HostMpmcConsumer const&) = delete;
    HostMpmcConsumer& operator=(HostMpmcConsumer const&) = delete;
    ~HostMpmcConsumer() {
        if (!state_ || mark_.inherited()) return;
        state_->consumers.leave(number_, [this](unsigned /*index*/) {
            if (!record_->handed_on) end_.hand_on();
            return true;
        });
    }

    // Takes what has arrived of this consumer's stripe, a few messages at most, and calls
    // use(message, sequence) for each. Returns whether there was any. A message is taken before it
    // is used: one whose use throws is not delivered again, and the next poll goes on behind it.
    // Throws UsageError when the thread that made it has ended, and another consumer has its
    // messages.
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

    // Numbers that it skipped because their producer died.
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

    // Writes down that it polls, and what it holds when that ends in whatever way.
    class Told {
       public:
        explicit Told(HostMpmcConsumer& consumer) : consumer_(consumer) {
            // Relaxed: the fence is behind it.
            consumer_.record_->begin.store(detail::ConsumerRecord::polling,
                                           std::memory_order_relaxed);
            // S11, pairs with S10: before the look whether the thread that made it lives.
            detail::cpu::ProcessFence::light();
        }
        Told(Told const&) = delete;
        Told& operator=(Told const&) = delete;
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
    std::unique_ptr<detail::ConsumerRecord> record_;  // goes when its place has been left
    unsigned number_;
    std::atomic<unsigned> const* holder_;
    std::uint32_t idle_ = 0;
    detail::MpmcConsumer<T, detail::HostCached, HostMapped, detail::OneThread, true> end_;
};

// `T` is trivially copyable and at most 1 KiB.
template <class T, Direction direction>
class MpmcRing {
   public:
    static constexpr bool to_device = direction == Direction::to_device;
    // What device_handle() gives.
    using DeviceEnd = std::conditional_t<to_device, DeviceMpmcConsumer<T>, DeviceMpmcProducer<T>>;
    using HostConsumer = HostMpmcConsumer<T>;

    // Throws UsageError for the options, and what Device::allocate throws.
    explicit MpmcRing(Device const& device, MpmcRingOptions const& options = {}) try
        : state_(std::make_shared<detail::MpmcRingState>(device, options, direction,
                                                         detail::shape_of<T>())) {
    } catch (...) {
        detail::throw_named("MpmcRing");
    }

    MpmcRing(MpmcRing const&) = default;  // and moves: a handle, copies share the ring
    MpmcRing& operator=(MpmcRing const&) = default;
    ~MpmcRing() = default;

    // The end of a warp: pass it to a kernel by value; every warp uses a copy of its own.
    [[nodiscard]] DeviceEnd device_handle() const {
        return DeviceEnd(state_->memory.device_view());
    }

    // What the end of other lanes than a warp's is made of.
    [[nodiscard]] MpmcRingView device_view() const { return state_->memory.device_view(); }

    // The calling thread's end. Throws UsageError when MpmcRingOptions::producers have one.
    [[nodiscard]] HostMpmcProducer<T> producer() const requires to_device {
        return detail::in_call("MpmcRing::producer",
                               [&] { return detail::MpmcProducerAccess::make<T>(state_); });
    }
    // The calling thread's end. Throws UsageError when MpmcRingOptions::consumers have one.
    [[nodiscard]] HostConsumer consumer() const requires(!to_device) {
        return detail::in_call("MpmcRing::consumer", [&] { return HostConsumer(state_); });
    }

    // Lets the consumers skip what producers that have died claimed and did not write, or go on
    // with what consumers that have died had begun; returns how many had died. Ends that wait do so
    // now and then: HostMpmcProducer::push, HostMpmcConsumer::poll.
    unsigned recover() {
        return detail::in_call("MpmcRing::recover", state_->mark, [&] {
            return to_device ? state_->recover() : state_->recover_consumers();
        });
    }

    // Both in slots, as in its options.
    [[nodiscard]] std::uint32_t capacity() const { return state_->memory.host_view().capacity; }
    [[nodiscard]] std::uint32_t stripe() const { return state_->memory.host_view().stripe(); }

   private:
    std::shared_ptr<detail::MpmcRingState> state_;
};

}  // namespace carillon
