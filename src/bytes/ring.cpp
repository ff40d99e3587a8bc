// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <variant>

#include "bytes/bytes_channel.hpp"
#include "bytes/message_access.hpp"
#include "carillon/bytes.hpp"
#include "carillon/detail/host/owned.hpp"
#include "carillon/detail/protocol/endpoints.hpp"

namespace carillon {
namespace detail {
namespace {

using BytesProducer =
    Producer<MessageAt, MessageFar<HostMapped>, HostCached, NoDoorbell, OneThread, ToldPages>;
using BytesConsumer = Consumer<MessageAt, MessageNear<HostCached>, HostMapped>;
using BytesHostEnd = std::variant<BytesProducer, BytesConsumer>;

constexpr std::string_view call_of_bytes_ring = "BytesRing";

}  // namespace

// The host's end, as Ring has it.
class BytesRingState {
   public:
    BytesRingState(Device const& device, ByteShape shape, Direction direction,
                   RingOptions const& options)
        : shape_(shape),
          memory_(std::in_place, device, 1,
                  ChannelShape{options.capacity, shape.slot_lines(), shape.slot_lines()},
                  options.for_tests.first),
          emulated_(device.emulated()),
          wait_(HostWait::for_kernel(device.traits(), 1, options.wait)),
          end_(end_of(shape, direction, ring_of(memory_->host_view(), direction),
                      device.access(memory_->device_memory()))) {}
    BytesRingState(ByteShape shape, Direction direction, LeasedEnd<RingView> const& lent)
        : shape_(shape),
          lent_by_(lent.lease),
          wait_(lent.wait),
          end_(end_of(shape, direction, lent.view, lent.far)) {}
    BytesRingState(BytesRingState const&) = delete;
    BytesRingState& operator=(BytesRingState const&) = delete;

    [[nodiscard]] ByteShape shape() const { return shape_; }
    [[nodiscard]] Direction direction() const {
        return end_.index() == 0 ? Direction::to_device : Direction::to_host;
    }
    [[nodiscard]] std::uint32_t capacity() const {
        return std::visit([](auto const& end) { return end.capacity(); }, end_);
    }
    [[nodiscard]] HostWait const& wait() const { return wait_; }
    [[nodiscard]] ProcessMark const& mark() const { return mark_; }

    // Throws as LentBy::require_there().
    void require_there(std::string_view call) const { lent_by_.require_there(call); }
    // Throw UsageError for a ring of the other direction, ForkError.
    [[nodiscard]] BytesProducer& producer(std::string_view call) {
        mark_.require_own(call);
        if (auto* const end = std::get_if<BytesProducer>(&end_)) return *end;
        throw UsageError(call, "the ring is to the host: this side takes what comes");
    }
    [[nodiscard]] BytesConsumer& consumer(std::string_view call) {
        mark_.require_own(call);
        if (auto* const end = std::get_if<BytesConsumer>(&end_)) return *end;
        throw UsageError(call, "the ring is to the device: this side sends");
    }
    // Takes the next message into `to`, if it is there.
    [[nodiscard]] bool take(BytesConsumer& end, std::byte* to) {
        Packed<MessageAt> message;
        if (!end.try_take(message)) return false;
        MessageNear<HostCached>(HostCached(), shape_).copy(unpack<MessageAt>(message), to);
        return true;
    }

    // The ring at the device's addresses, once.
    [[nodiscard]] RingView take_device_view(std::string_view call, CodeLocation const& where) {
        lent_by_.require_own_end(call);
        if (!emulated_) {
            throw UnsupportedError(call,
                                   "the device is a GPU: its kernels are C++, and have types");
        }
        taken_.take(call, where, {});
        return ring_of(memory_->device_view(), direction());
    }

   private:
    [[nodiscard]] static RingView ring_of(ChannelTable const& table, Direction direction) {
        ChannelView const view = table.channel(0);
        return direction == Direction::to_device ? view.requests : view.replies;
    }
    [[nodiscard]] static BytesHostEnd end_of(ByteShape shape, Direction direction,
                                             RingView const& ring, HostMapped const& far) {
        if (direction == Direction::to_device) {
            return BytesHostEnd(std::in_place_type<BytesProducer>, ring,
                                MessageFar<HostMapped>(far, shape), HostCached());
        }
        return BytesHostEnd(std::in_place_type<BytesConsumer>, ring,
                            MessageNear<HostCached>(HostCached(), shape), far);
    }

    ProcessMark mark_;
    ByteShape shape_;
    LentBy lent_by_;
    std::optional<ChannelMemory> memory_;  // none of a ring that is lent
    bool emulated_ = false;
    HostWait wait_;
    BytesHostEnd end_;
    TakenOnce taken_;
};

}  // namespace detail

struct BytesDeviceEnd::Ends {
    using Taking = detail::Consumer<detail::MessageAt, detail::MessageNear<detail::DeviceNear>,
                                    detail::DeviceFar, detail::OneThread, detail::FirstPages>;
    using Sending = detail::Producer<detail::MessageAt, detail::MessageFar<detail::DeviceFar>,
                                     detail::DeviceNear>;

    using End = std::variant<Taking, Sending>;

    Ends(std::shared_ptr<detail::BytesRingState> of, detail::RingView const& view)
        : ring(std::move(of)),
          end(ring->direction() == Direction::to_device
                  ? End(std::in_place_type<Taking>, view,
                        detail::MessageNear<detail::DeviceNear>(detail::DeviceNear(),
                                                                ring->shape()),
                        detail::DeviceFar())
                  : End(std::in_place_type<Sending>, view,
                        detail::MessageFar<detail::DeviceFar>(detail::DeviceFar(), ring->shape()),
                        detail::DeviceNear())) {}

    std::shared_ptr<detail::BytesRingState> ring;
    End end;
};

BytesDeviceEnd::BytesDeviceEnd(std::unique_ptr<Ends> ends) : ends_(std::move(ends)) {}
BytesDeviceEnd::BytesDeviceEnd(BytesDeviceEnd&&) noexcept = default;
BytesDeviceEnd& BytesDeviceEnd::operator=(BytesDeviceEnd&&) noexcept = default;
BytesDeviceEnd::~BytesDeviceEnd() = default;

bool BytesDeviceEnd::try_push(std::span<std::byte const> message) {
    constexpr std::string_view call = "BytesDeviceEnd::try_push";
    Ends& ends = detail::owned(ends_, call);
    detail::OneThreadCall<> const one(&ends, call);
    ends.ring->mark().require_own(call);
    detail::require_one(call, "message", message, ends.ring->shape());
    auto* const end = std::get_if<Ends::Sending>(&ends.end);
    if (end == nullptr) throw UsageError(call, "the ring is to the device: this side takes");
    return end->try_push({message.data()});
}

bool BytesDeviceEnd::try_pop(std::span<std::byte> message) {
    constexpr std::string_view call = "BytesDeviceEnd::try_pop";
    Ends& ends = detail::owned(ends_, call);
    detail::OneThreadCall<> const one(&ends, call);
    ends.ring->mark().require_own(call);
    detail::require_one(call, "message", message, ends.ring->shape());
    auto* const end = std::get_if<Ends::Taking>(&ends.end);
    if (end == nullptr) throw UsageError(call, "the ring is to the host: this side sends");
    detail::MessageAt taken;
    if (!end->try_pop(taken)) return false;
    detail::MessageNear<detail::DeviceNear>(detail::DeviceNear(), ends.ring->shape())
        .copy(taken, message.data());
    return true;
}

BytesRing::BytesRing(Device const& device, std::size_t bytes, Direction direction,
                     RingOptions const& options)
    : state_(std::make_shared<detail::BytesRingState>(
          device, detail::checked_shape(detail::call_of_bytes_ring, "message", bytes), direction,
          options)) {}
BytesRing::BytesRing(Connection const& connection, NameArgument object, BytesType const& type,
                     Direction direction)
    : state_(std::make_shared<detail::BytesRingState>(
          detail::checked_shape(detail::call_of_bytes_ring, "message", type.bytes), direction,
          detail::BytesAttach::ring(
              connection, object, detail::message_type(detail::call_of_bytes_ring, "message", type),
              direction == Direction::to_device))) {}
BytesRing::BytesRing(BytesRing&&) noexcept = default;
BytesRing& BytesRing::operator=(BytesRing&&) noexcept = default;
BytesRing::~BytesRing() = default;

detail::BytesRingState& BytesRing::state(std::string_view call) const {
    return detail::owned(state_, call);
}

bool BytesRing::try_push(std::span<std::byte const> message, OutOfLine data) {
    constexpr std::string_view call = "BytesRing::try_push";
    detail::BytesRingState& ring = state(call);
    detail::OneThreadCall<> const one(&ring, call);
    detail::require_one(call, "message", message, ring.shape());
    auto& end = ring.producer(call);
    ring.require_there(call);
    return end.try_push({message.data()}, data);
}

std::size_t BytesRing::try_push_n(std::span<std::byte const> messages, OutOfLine data) {
    constexpr std::string_view call = "BytesRing::try_push_n";
    constexpr std::size_t at_once = 64;
    detail::BytesRingState& ring = state(call);
    detail::OneThreadCall<> const one(&ring, call);
    std::size_t const bytes = ring.shape().bytes;
    std::size_t const all = detail::require_whole(call, "message", messages, ring.shape());
    auto& end = ring.producer(call);
    ring.require_there(call);
    std::size_t sent = 0;
    while (sent < all) {
        std::array<detail::MessageAt, at_once> next;
        std::size_t const count = std::min(all - sent, at_once);
        for (std::size_t i = 0; i < count; ++i) {
            next[i].where = messages.data() + (sent + i) * bytes;
        }
        std::size_t const now = end.try_push_n(next.data(), count, data);
        sent += now;
        if (now < count) break;
    }
    return sent;
}

void BytesRing::push(std::span<std::byte const> message, std::chrono::nanoseconds timeout,
                     OutOfLine data) {
    constexpr std::string_view call = "BytesRing::push";
    detail::BytesRingState& ring = state(call);
    detail::OneThreadCall<> const one(&ring, call);
    detail::require_one(call, "message", message, ring.shape());
    auto& end = ring.producer(call);
    auto const pushed = [&] {
        ring.require_there(call);
        return end.try_push({message.data()}, data);
    };
    if (!ring.wait().until(pushed, timeout)) throw TimeoutError(call, "the ring stayed full");
}

bool BytesRing::try_pop(std::span<std::byte> message) {
    constexpr std::string_view call = "BytesRing::try_pop";
    detail::BytesRingState& ring = state(call);
    detail::OneThreadCall<> const one(&ring, call);
    detail::require_one(call, "message", message, ring.shape());
    if (ring.take(ring.consumer(call), message.data())) return true;
    ring.require_there(call);
    return false;
}

std::size_t BytesRing::try_pop_n(std::span<std::byte> messages) {
    constexpr std::string_view call = "BytesRing::try_pop_n";
    detail::BytesRingState& ring = state(call);
    detail::OneThreadCall<> const one(&ring, call);
    std::size_t const all = detail::require_whole(call, "message", messages, ring.shape());
    auto& end = ring.consumer(call);
    std::size_t taken = 0;
    while (taken < all && ring.take(end, messages.data() + taken * ring.shape().bytes)) ++taken;
    if (taken == 0) ring.require_there(call);
    return taken;
}

void BytesRing::pop(std::span<std::byte> message, std::chrono::nanoseconds timeout) {
    constexpr std::string_view call = "BytesRing::pop";
    detail::BytesRingState& ring = state(call);
    detail::OneThreadCall<> const one(&ring, call);
    detail::require_one(call, "message", message, ring.shape());
    auto& end = ring.consumer(call);
    auto const watched = [&] { return end.awaited(); };
    auto const taken = [&] {
        if (ring.take(end, message.data())) return true;
        ring.require_there(call);
        return false;
    };
    if (!ring.wait().until(taken, watched, timeout)) {
        throw TimeoutError(call, "no message arrived");
    }
}

BytesDeviceEnd BytesRing::emulated_end() {
    constexpr std::string_view call = "BytesRing::emulated_end";
    detail::BytesRingState& ring = state(call);
    detail::RingView const view = ring.take_device_view(call, detail::CodeLocation::elsewhere());
    return BytesDeviceEnd(std::make_unique<BytesDeviceEnd::Ends>(state_, view));
}

std::uint32_t BytesRing::capacity() const { return state("BytesRing::capacity").capacity(); }
std::size_t BytesRing::message_bytes() const {
    return state("BytesRing::message_bytes").shape().bytes;
}
Direction BytesRing::direction() const { return state("BytesRing::direction").direction(); }

}  // namespace carillon
