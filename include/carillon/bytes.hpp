// SPDX-License-Identifier: Apache-2.0
// `Bytes`, for bindings of other languages and programs that forward messages without looking into
// them: messages whose size alone is known, at run time. Ring, Mailbox, ChunkRing and Channel
// accept `Bytes` in place of a type; their calls then take and fill spans. On the wire such a
// message equals a message type of that size (docs/dev/protocol.md).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include "carillon/chunk_ring.hpp"
#include "carillon/client.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/message_of.hpp"
#include "carillon/detail/host/message_types.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/protocol/chunk_ring_protocol.hpp"
#include "carillon/detail/protocol/endpoints.hpp"
#include "carillon/detail/protocol/message_at.hpp"
#include "carillon/error.hpp"
#include "carillon/mailbox.hpp"
#include "carillon/ring.hpp"
#include "carillon/ticket.hpp"

namespace carillon {

// Stands for a message type of as many bytes as the object is made for.
struct Bytes {};

// Describes such a type. Processes compare the sizes, and the names if both sides give one.
struct BytesType {
    std::uint32_t bytes = 0;  // 1 to 1024; 1 to 4096 for a mailbox, 0 to 40 beside a chunk
    // The type's C++ name with its namespace, "desk::Tick"; empty if not given. Calls that take it
    // throw UsageError for control characters and for bytes that are not UTF-8.
    std::string name{};
};

// The bytes beside a chunk: as many as the ring was made for, followed by zeros.
using ChunkMeta = std::array<std::byte, 40>;

namespace detail {

template <class End>
class BytesEnd;

template <>
class MessageOf<Bytes> {
   public:
    using Wire = MessageAt;
    using Given = std::span<std::byte const>;
    using GivenRow = Given;
    using Room = std::span<std::byte>;
    using RoomForRow = Room;
    using Near = MessageNear<HostCached>;
    using Far = MessageFar<HostMapped>;
    using HostSends = Producer<MessageAt, Far, HostCached, NoDoorbell, OneThread, ToldPages>;
    using HostTakes = Consumer<MessageAt, Near, HostMapped>;
    using DeviceSends = BytesEnd<Producer<MessageAt, MessageFar<DeviceFar>, DeviceNear>>;
    using DeviceTakes =
        BytesEnd<Consumer<MessageAt, MessageNear<DeviceNear>, DeviceFar, OneThread, FirstPages>>;
    using Described = BytesType;

    // `what` is the name in errors. `device` is given for an object of this process. Throws
    // UsageError unless `bytes` is from `least` to `most`.
    MessageOf(char const* what, std::size_t bytes, Device const* device = nullptr,
              std::size_t least = 1, std::size_t most = message_bytes)
        : what_(what), shape_(checked(what, bytes, least, most)), on_gpu_(is_gpu(device)) {}
    MessageOf(char const* what, BytesType const& type) : MessageOf(what, type.bytes) {}

    [[nodiscard]] char const* what() const { return what_; }
    [[nodiscard]] std::size_t bytes() const { return shape_.bytes; }
    [[nodiscard]] ByteShape shape() const { return shape_; }
    [[nodiscard]] std::uint32_t slot_lines() const { return shape_.slot_lines(); }
    [[nodiscard]] Near near() const { return {HostCached(), shape_}; }
    [[nodiscard]] Far far(HostMapped const& access) const { return {access, shape_}; }
    template <std::same_as<DeviceSends> End>
    [[nodiscard]] End device_end(RingView const& view) const {
        return {emulated(), view, MessageFar<DeviceFar>(DeviceFar(), shape_), DeviceNear()};
    }
    template <std::same_as<DeviceTakes> End>
    [[nodiscard]] End device_end(RingView const& view) const {
        return {emulated(), view, MessageNear<DeviceNear>(DeviceNear(), shape_), DeviceFar()};
    }

    // Throws UsageError for another size and for a null pointer.
    void require_one(std::span<std::byte const> message) const;
    // Throws UsageError for a null pointer, and unless the bytes are a whole number of messages.
    void require(std::span<std::byte const> row) const;

    [[nodiscard]] MessageAt wire(std::span<std::byte const> message) const {
        require_one(message);
        return {message.data()};
    }
    [[nodiscard]] std::size_t count(std::span<std::byte const> row) const {
        return row.size() / shape_.bytes;
    }
    template <class Row>
    [[nodiscard]] Row rest(Row row, std::size_t done) const {
        return row.subspan(done * shape_.bytes);
    }
    template <class Send>
    auto send_first(std::span<std::byte const> row, Send const& send) const {
        std::array<MessageAt, in_one_send> messages;
        std::size_t const now = (std::min)(count(row), in_one_send);
        for (std::size_t i = 0; i < now; ++i) messages[i].where = rest(row, i).data();
        return send(std::span<MessageAt const>(messages).first(now));
    }
    // If the kernel or its owner ended after the first part, returns the number of sent messages:
    // the next call throws that error again. After any other error it is unknown whether its part
    // was sent, so the error is thrown.
    template <class Send>
    auto send_row(std::span<std::byte const> row, Send const& send) const {
        decltype(send_first(row, send)) sent{};
        for (std::size_t asked = 0; asked < count(row) && size_of(sent) == asked;) {
            asked = (std::min)(count(row), asked + in_one_send);
            try {
                add(sent, send_first(rest(row, size_of(sent)), send));
            } catch (Error const& error) {
                bool const ended =
                    error.ended_kernel() || dynamic_cast<StoppedError const*>(&error) != nullptr;
                if (!ended || size_of(sent) == 0) throw;
                break;
            }
        }
        return sent;
    }
    // Copies a message that was just taken out of its slot.
    void put(MessageAt taken, std::span<std::byte> row, std::size_t index = 0) const {
        near().copy(taken, rest(row, index).data());
    }
    template <class End>
    std::size_t take_row(End& end, std::span<std::byte> row) const {
        Packed<MessageAt> message;
        std::size_t taken = 0;
        while (taken < count(row) && end.try_take(message)) {
            put(unpack<MessageAt>(message), row, taken++);
        }
        return taken;
    }
    // Takes a mailbox's latest value if it is new.
    template <class Reader>
    [[nodiscard]] bool refresh(Reader& reader, std::span<std::byte> value) const {
        require_one(value);
        MessageAt found;
        if (!reader.refresh(found)) return false;
        std::memcpy(value.data(), found.where, value.size());
        return true;
    }

   protected:
    // Returns *this, for an end on the device. Throws UnsupportedError on a GPU.
    [[nodiscard]] MessageOf const& emulated() const;

   private:
    static constexpr std::size_t in_one_send = 64;

    [[nodiscard]] static ByteShape checked(char const* what, std::size_t bytes, std::size_t least,
                                           std::size_t most);
    [[nodiscard]] static bool is_gpu(Device const* device);

    [[nodiscard]] static std::size_t size_of(std::size_t sent) { return sent; }
    [[nodiscard]] static std::size_t size_of(Tickets const& sent) { return sent.size(); }
    static void add(std::size_t& sent, std::size_t more) { sent += more; }
    static void add(Tickets& sent, Tickets const& more) { sent.append(more); }

    char const* what_;
    ByteShape shape_;
    bool on_gpu_;
};

// Describes a message's type for another process's comparison. In C++ an empty type has one byte.
// Throws UsageError for a name with control characters or bytes that are not UTF-8.
[[nodiscard]] MessageType described(MessageOf<Bytes> const& message, BytesType const& type,
                                    std::uint32_t slot_lines);

// The device's end of an object of bytes, for one thread of the emulated device that stands in for
// a kernel. Its calls throw UsageError for another size and for a null pointer.
template <class End>
class BytesEnd {
   public:
    template <class Message, class View, class... Access>
    BytesEnd(Message const& message, View const& view, Access const&... access)
        : message_(message), end_(view, access...) {}

    // For a ring to the host: returns false at once if it is full.
    [[nodiscard]] bool try_push(std::span<std::byte const> message) {
        return in_call("DeviceEnd::try_push", this, mark_,
                       [&] { return end_.try_push(message_.wire(message)); });
    }
    // For a ring to the device: returns false at once if it is empty.
    [[nodiscard]] bool try_pop(std::span<std::byte> message) {
        return in_call("DeviceEnd::try_pop", this, mark_, [&] {
            message_.require_one(message);
            MessageAt taken;
            if (!end_.try_pop(taken)) return false;
            MessageNear<DeviceNear>(DeviceNear(), message_.shape()).copy(taken, message.data());
            return true;
        });
    }
    // For a mailbox to the host: sets the value.
    void set(std::span<std::byte const> value) {
        in_call("DeviceEnd::set", this, mark_, [&] { end_.set(message_.wire(value)); });
    }
    // For a mailbox to the device: takes the latest value. Returns false and leaves `value`
    // unchanged if none is newer than the last one.
    [[nodiscard]] bool refresh(std::span<std::byte> value) {
        return in_call("DeviceEnd::refresh", this, mark_,
                       [&] { return message_.refresh(end_, value); });
    }
    // For a chunk ring: the next chunk, which may be read until release(), or nothing at once.
    [[nodiscard]] std::optional<ChunkView<ChunkMeta>> try_take() {
        return in_call("DeviceEnd::try_take", this, mark_, [&] {
            ChunkView<ChunkMeta> chunk;
            return end_.try_take(chunk) ? std::optional(chunk) : std::nullopt;
        });
    }
    bool release(Sequence sequence) {
        return in_call("DeviceEnd::release", this, mark_, [&] { return end_.release(sequence); });
    }

   private:
    ProcessMark mark_;
    MessageOf<Bytes> message_;
    End end_;
};

template <>
class ValueOf<Bytes> : public MessageOf<Bytes> {
   public:
    using Writer = MailboxWriter<MessageAt, ValueFar<HostMapped>>;
    using Reader = MailboxReader<MessageAt, ValueNear<HostCached>>;
    using DeviceWriter = BytesEnd<MailboxWriter<MessageAt, ValueFar<DeviceFar>>>;
    using DeviceReader = BytesEnd<MailboxReader<MessageAt, ValueNear<DeviceNear>>>;

    ValueOf(Device const& device, std::span<std::byte const> initial)
        : MessageOf("value", initial.size(), &device, 1, largest_mailbox_value) {
        require_one(initial);
    }
    ValueOf(char const* what, BytesType const& type)
        : MessageOf(what, type.bytes, nullptr, 1, largest_mailbox_value) {}

    [[nodiscard]] std::uint32_t slot_lines() const { return shape().value_lines(); }
    [[nodiscard]] ValueNear<HostCached> near() const { return {HostCached(), shape()}; }
    [[nodiscard]] ValueFar<HostMapped> far(HostMapped const& access) const {
        return {access, shape()};
    }
    template <std::same_as<DeviceWriter> End>
    [[nodiscard]] End device_end(MailboxView const& view) const {
        return {emulated(), view, ValueFar<DeviceFar>(DeviceFar(), shape())};
    }
    template <std::same_as<DeviceReader> End>
    [[nodiscard]] End device_end(MailboxView const& view) const {
        return {emulated(), view, ValueNear<DeviceNear>(DeviceNear(), shape())};
    }
};

template <>
class MetaOf<Bytes> : public MessageOf<Bytes> {
   public:
    using Wire = ChunkMeta;
    using DeviceTakes = BytesEnd<DeviceChunkReader<ChunkMeta>>;

    MetaOf(Device const& device, std::size_t bytes)
        : MessageOf("meta", bytes, &device, 0, sizeof(ChunkMeta)) {}
    MetaOf(char const* what, BytesType const& type)
        : MessageOf(what, type.bytes, nullptr, 0, sizeof(ChunkMeta)) {}

    template <class End>
    [[nodiscard]] End device_end(ChunkRingView const& view) const {
        return {emulated(), view};
    }
    [[nodiscard]] static Given none() { return {}; }
    [[nodiscard]] ChunkMeta wire(std::span<std::byte const> meta) const {
        require_one(meta);
        ChunkMeta all{};
        std::ranges::copy(meta, all.begin());
        return all;
    }
};

}  // namespace detail

}  // namespace carillon
