// SPDX-License-Identifier: Apache-2.0
// A ring between the CPU and a kernel that the user writes: one direction, one type.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "carillon/block.hpp"
#include "carillon/channel_memory.hpp"
#include "carillon/detail/host/channel_lease.hpp"
#include "carillon/detail/host/checks.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/taken_once.hpp"
#include "carillon/detail/protocol/endpoints.hpp"
#include "carillon/device.hpp"
#include "carillon/error.hpp"
#include "carillon/for_tests.hpp"
#include "carillon/wait.hpp"

namespace carillon {

using detail::DeviceClock;
using detail::DeviceConsumer;
using detail::DeviceProducer;

class CARILLON_LAYOUT Connection;

// Which side takes what the other sends.
enum class Direction : bool { to_device, to_host };

struct RingOptions {
    std::uint32_t capacity = 256;  // slots; a power of two up to 2^20
    // How the CPU waits; none: HostWait::for_kernel chooses.
    std::optional<HostWait::Style> wait = std::nullopt;
    ForTests for_tests{};
};

// `T` is trivially copyable and at most 1 KiB. One thread at a time on each side. Neither copied
// nor moved: its end numbers the messages.
template <class T, Direction direction>
class Ring {
   public:
    static constexpr bool to_device = direction == Direction::to_device;
    // The host's end, which the ring has, and the device's, which device_handle() gives.
    using HostEnd = std::conditional_t<to_device, detail::HostProducer<T>, detail::HostConsumer<T>>;
    using DeviceEnd = std::conditional_t<to_device, DeviceConsumer<T>, DeviceProducer<T>>;

    // Throws UsageError for the capacity, and what Device::allocate throws. Of a ring that another
    // process lends (Connection::ring) all that it can do but for device_handle() throws
    // OwnerGoneError when that one has ended, and StoppedError when it has destroyed the ring;
    // messages that had come are there to be taken still.
    explicit Ring(Device const& device, RingOptions const& options = {}) try
        : memory_(std::in_place, device, 1, ChannelShape::of<T, T>(options.capacity),
                  options.for_tests.first),
          wait_(HostWait::for_kernel(device.traits(), 1, options.wait)),
          host_(make_host_end(memory_->host_view(), device.access(memory_->device_memory()))) {
    } catch (...) {
        detail::throw_named("Ring");
    }

    Ring(Ring const&) = delete;
    Ring& operator=(Ring const&) = delete;

    // The device's end: pass it to a kernel by value, once. Throws UsageError the second time, and
    // for a ring of another process (Connection::ring).
    [[nodiscard]] DeviceEnd device_handle(
        CodeLocation const& where = CodeLocation::current()) const {
        return detail::in_call("Ring::device_handle", [&] {
            lent_by_.require_own_end();
            detail::RingView const ring = ring_of(memory_->device_view());
            taken_.take("Ring::device_handle", where, {ring.base, ring.credit});
            return DeviceEnd(ring);
        });
    }

    // Publishes and returns true, or returns false at once when the ring is full. `data` says
    // that the message refers to device memory that the caller has written (Memory::host_ptr).
    bool try_push(T const& message, OutOfLine data = OutOfLine::none) requires to_device {
        return detail::in_call("Ring::try_push", this, mark_, [&] {
            lent_by_.require_there();
            return host_.try_push(message, data);
        });
    }
    // Publishes the first ones of `messages`, as many as there is room for, and returns how many:
    // with one fence for all of them. `data` is for what any of them refers to.
    // Throws UsageError for a null pointer to any.
    std::size_t try_push_n(std::span<T const> messages,
                           OutOfLine data = OutOfLine::none) requires to_device {
        return detail::in_call("Ring::try_push_n", this, mark_, [&] {
            lent_by_.require_there();
            detail::require_messages(messages);
            return host_.try_push_n(messages.data(), messages.size(), data);
        });
    }
    // Publishes, waiting for room if need be. Throws TimeoutError; the message was not sent then.
    void push(T const& message, std::chrono::nanoseconds timeout,
              OutOfLine data = OutOfLine::none) requires to_device {
        detail::in_call("Ring::push", this, mark_, [&] {
            auto const pushed = [&] {
                lent_by_.require_there();
                return host_.try_push(message, data);
            };
            if (!wait_.until(pushed, timeout)) throw TimeoutError("the ring stayed full");
        });
    }

    // The next message, or nothing when none has arrived.
    [[nodiscard]] std::optional<T> try_pop() requires(!to_device) {
        return detail::in_call("Ring::try_pop", this, mark_, [&]() -> std::optional<T> {
            detail::Packed<T> message;
            if (host_.try_take(message)) return detail::unpack<T>(message);
            lent_by_.require_there();
            return {};
        });
    }
    // Takes the next messages into the first ones of `messages`, as many as have arrived and fit,
    // and returns how many. Throws UsageError for a null pointer to any.
    [[nodiscard]] std::size_t try_pop_n(std::span<T> messages) requires(!to_device) {
        return detail::in_call("Ring::try_pop_n", this, mark_, [&] {
            detail::require_messages(messages);
            std::size_t const taken = host_.try_pop_n(messages.data(), messages.size());
            if (taken == 0) lent_by_.require_there();
            return taken;
        });
    }
    // The next message. Throws TimeoutError.
    [[nodiscard]] T pop(std::chrono::nanoseconds timeout) requires(!to_device) {
        return detail::in_call("Ring::pop", this, mark_, [&] {
            detail::Packed<T> message;
            auto const watched = [&] { return host_.awaited(); };
            auto const taken = [&] {
                if (host_.try_take(message)) return true;
                lent_by_.require_there();
                return false;
            };
            if (!wait_.until(taken, watched, timeout)) throw TimeoutError("no message arrived");
            return detail::unpack<T>(message);
        });
    }

    [[nodiscard]] std::uint32_t capacity() const { return host_.capacity(); }  // slots

   private:
    [[nodiscard]] static detail::RingView ring_of(ChannelTable const& table) {
        return to_device ? table.channel(0).requests : table.channel(0).replies;
    }

    // Of a ring that another process lends.
    friend class Connection;
    explicit Ring(detail::LeasedEnd<detail::RingView> const& lent)
        : lent_by_(lent.lease), wait_(lent.wait), host_(end_of(lent.view, lent.far)) {}

    [[nodiscard]] static HostEnd make_host_end(ChannelTable const& table, HostMapped const& far) {
        return end_of(ring_of(table), far);
    }
    [[nodiscard]] static HostEnd end_of(detail::RingView const& ring, HostMapped const& far) {
        if constexpr (to_device) {
            return HostEnd(ring, far, detail::HostCached());
        } else {
            return HostEnd(ring, detail::HostCached(), far);
        }
    }

    detail::ProcessMark mark_;
    detail::LentBy lent_by_;
    std::optional<ChannelMemory> memory_;  // none of a ring that is lent
    HostWait wait_;
    HostEnd host_;
    mutable detail::TakenOnce taken_;
};

}  // namespace carillon
