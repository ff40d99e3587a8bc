// SPDX-License-Identifier: Apache-2.0
// `Ring`, for kernels of your own: messages of one type, or bytes, in one direction.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "carillon/arguments.hpp"
#include "carillon/block.hpp"
#include "carillon/detail/host/channel_parts.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/message_of.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/taken_once.hpp"
#include "carillon/detail/protocol/endpoints.hpp"
#include "carillon/error.hpp"
#include "carillon/wait.hpp"

namespace carillon {

using detail::DeviceClock;
using detail::DeviceConsumer;
using detail::DeviceProducer;
using detail::OutOfLine;

class CARILLON_LAYOUT Connection;
class CARILLON_LAYOUT Device;

// The side that receives.
enum class Direction : bool { to_device, to_host };

struct RingOptions {
    std::uint32_t capacity = 256;  // slots; a power of two from 2 to 2^20
    // How the CPU waits; by default HostWait::for_kernel chooses.
    std::optional<HostWait::Style> wait = std::nullopt;
    ForTests for_tests{};
};

namespace detail {
// Makes the parts of this process's own ring. Throws what Ring's constructor throws.
[[nodiscard]] ObjectEnd<RingView> own_ring(Device const& device, Direction direction,
                                           std::uint32_t slot_lines, RingOptions const& options);
}  // namespace detail

// Carries messages in one direction, for one thread at a time on each side. `T` is trivially
// copyable and at most 1 KiB, or is Bytes: messages of 1 to 1024 bytes, a size known at run time.
// With Bytes the calls take spans, and throw UsageError for another size and for a null pointer.
// Neither copied nor moved: its end numbers the messages.
template <class T, Direction direction>
class Ring {
    using Message = detail::MessageOf<T>;
    using Given = typename Message::Given;  // T const&, or a span of bytes
    using Room = typename Message::Room;    // T&, or a span of bytes
    using Wire = typename Message::Wire;    // the type that the ends move
    static constexpr bool by_bytes = detail::IsBytes<T>;

   public:
    static constexpr bool to_device = direction == Direction::to_device;
    // The types of the host's end, inside the ring, and of the device's end, for device_handle().
    using HostEnd =
        std::conditional_t<to_device, typename Message::HostSends, typename Message::HostTakes>;
    using DeviceEnd =
        std::conditional_t<to_device, typename Message::DeviceTakes, typename Message::DeviceSends>;

    // Throws UsageError for the capacity, and what Device::allocate throws. For a ring of another
    // process (Connection::ring), all calls except device_handle() throw OwnerGoneError if that
    // process has ended, and StoppedError if it has destroyed the ring; arrived messages can still
    // be taken.
    explicit Ring(Device const& device, RingOptions const& options = {}) requires(!by_bytes) try
        : Ring({}, device, options) {
    } catch (...) {
        detail::throw_named("Ring");
    }
    // Makes a ring of messages of `bytes` bytes each. Also throws UsageError for that number.
    Ring(Device const& device, std::size_t bytes, RingOptions const& options = {}) requires by_bytes
        try : Ring(Message("message", bytes, &device), device, options) {
    } catch (...) {
        detail::throw_named("Ring");
    }

    // Returns the device's end: pass it to a kernel by value, once. Throws UsageError the second
    // time, and for a ring of another process (Connection::ring). With Bytes the end takes spans,
    // and is for a thread that stands in for a kernel; on a GPU this throws UnsupportedError,
    // because kernels there have types.
    [[nodiscard]] DeviceEnd device_handle(
        CodeLocation const& where = CodeLocation::current()) const {
        return detail::in_call("Ring::device_handle", [&] {
            end_.lent_by.require_own_end();
            detail::RingView const& ring = end_.device;
            auto const end = message_.template device_end<DeviceEnd>(ring);
            taken_.take("Ring::device_handle", where, {ring.base, ring.credit});
            return end;
        });
    }

    // Publishes and returns true, or returns false at once if the ring is full. `data` says that
    // the message refers to device memory that the caller has written (Memory::host_ptr).
    bool try_push(Given message, OutOfLine data = OutOfLine::none) requires to_device {
        return detail::in_call("Ring::try_push", this, mark_, [&] {
            end_.lent_by.require_there();
            return host_.try_push(message_.wire(message), data);
        });
    }
    // Publishes the first of `messages`, as many as there is room for, and returns how many. It
    // issues one fence for all, or with Bytes one for each 64. `data` applies to all of them.
    // Throws UsageError for a null pointer, and for bytes that are not a whole number of messages.
    std::size_t try_push_n(typename Message::GivenRow messages,
                           OutOfLine data = OutOfLine::none) requires to_device {
        return detail::in_call("Ring::try_push_n", this, mark_, [&] {
            end_.lent_by.require_there();
            message_.require(messages);
            return message_.send_row(
                messages, [&](auto row) { return host_.try_push_n(row.data(), row.size(), data); });
        });
    }
    // Publishes, waiting for room. Throws TimeoutError: the message was then not sent.
    void push(Given message, std::chrono::nanoseconds timeout,
              OutOfLine data = OutOfLine::none) requires to_device {
        detail::in_call("Ring::push", this, mark_, [&] {
            auto const& wire = message_.wire(message);
            auto const pushed = [&] {
                end_.lent_by.require_there();
                return host_.try_push(wire, data);
            };
            if (!end_.wait.until(pushed, timeout)) detail::throw_ring_full(timeout, capacity());
        });
    }

    // Returns the next message, or nothing if none has arrived.
    [[nodiscard]] std::optional<T> try_pop() requires(!to_device && !by_bytes) {
        return detail::in_call("Ring::try_pop", this, mark_, [&]() -> std::optional<T> {
            detail::Packed<T> message;
            if (!this->take(message)) return {};
            return detail::unpack<T>(message);
        });
    }
    // Writes the next message to `into`; returns false if none has arrived.
    [[nodiscard]] bool try_pop(Room into) requires(!to_device && by_bytes) {
        return detail::in_call("Ring::try_pop", this, mark_, [&] {
            message_.require_one(into);
            detail::Packed<Wire> message;
            bool const taken = this->take(message);
            if (taken) message_.put(detail::unpack<Wire>(message), into);
            return taken;
        });
    }
    // Takes the next messages into the first of `messages`, as many as have arrived and fit, and
    // returns how many. Throws what try_push_n throws.
    [[nodiscard]] std::size_t try_pop_n(typename Message::RoomForRow messages) requires(
        !to_device) {
        return detail::in_call("Ring::try_pop_n", this, mark_, [&] {
            message_.require(messages);
            std::size_t const taken = message_.take_row(host_, messages);
            if (taken == 0) end_.lent_by.require_there();
            return taken;
        });
    }
    // Returns the next message, waiting for it. Throws TimeoutError.
    [[nodiscard]] T pop(std::chrono::nanoseconds timeout) requires(!to_device && !by_bytes) {
        return detail::in_call("Ring::pop", this, mark_, [&] { return this->await(timeout); });
    }
    void pop(Room into, std::chrono::nanoseconds timeout) requires(!to_device && by_bytes) {
        detail::in_call("Ring::pop", this, mark_, [&] {
            message_.require_one(into);
            message_.put(this->await(timeout), into);
        });
    }

    [[nodiscard]] std::uint32_t capacity() const { return host_.capacity(); }  // slots
    [[nodiscard]] std::size_t message_bytes() const requires by_bytes { return message_.bytes(); }

   private:
    Ring(Message const& message, Device const& device, RingOptions const& options)
        : Ring(message, detail::own_ring(device, direction, message.slot_lines(), options)) {}
    friend class Connection;  // for a ring that another process lends
    Ring(Message const& message, detail::ObjectEnd<detail::RingView> const& end)
        : end_(end), message_(message), host_(host_end()) {}

    [[nodiscard]] HostEnd host_end() const {
        if constexpr (to_device) {
            return HostEnd(end_.view, message_.far(end_.far), detail::HostCached());
        } else {
            return HostEnd(end_.view, message_.near(), end_.far);
        }
    }

    // Takes the next message if it has arrived.
    [[nodiscard]] bool take(detail::Packed<Wire>& message) requires(!to_device) {
        if (host_.try_take(message)) return true;
        end_.lent_by.require_there();
        return false;
    }
    [[nodiscard]] Wire await(std::chrono::nanoseconds timeout) requires(!to_device) {
        detail::Packed<Wire> message;
        if constexpr (by_bytes) message = {};  // GCC 12 does not see that take() fills it
        auto const watched = [&] { return host_.awaited(); };
        auto const taken = [&] { return this->take(message); };
        if (!end_.wait.until(taken, watched, timeout)) detail::throw_no_message(timeout);
        return detail::unpack<Wire>(message);
    }

    detail::ProcessMark mark_;
    detail::ObjectEnd<detail::RingView> end_;
    [[no_unique_address]] Message message_;
    HostEnd host_;
    mutable detail::TakenOnce taken_;
};

}  // namespace carillon
