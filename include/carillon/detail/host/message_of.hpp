// SPDX-License-Identifier: Apache-2.0
// A message for the host's ends: a type, or bytes of a size known at run time. Only this class and
// its specialization for Bytes (bytes.hpp) know the difference, so that a ring, a mailbox, a chunk
// ring and a client have one body for both.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/host/argument_checks.hpp"
#include "carillon/detail/protocol/endpoints.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon {
struct Bytes;
}  // namespace carillon

namespace carillon::detail {

template <class T>
concept IsBytes = std::same_as<T, Bytes>;

// A type needs no data, so an object of this class is empty.
template <class T>
struct MessageOf {
    using Wire = T;                       // the type that the ends move
    using Given = T const&;               // the argument of a call that sends
    using GivenRow = std::span<T const>;  // several of them
    using Room = T&;                      // the argument of a call that receives
    using RoomForRow = std::span<T>;      // room for several
    using Near = HostCached;              // how the host's ends load the message
    using Far = HostMapped;               // how they store it
    using HostSends = HostProducer<T>;    // the ends of a ring
    using HostTakes = HostConsumer<T>;
    using DeviceSends = DeviceProducer<T>;
    using DeviceTakes = DeviceConsumer<T>;
    struct Described {};  // a client's description of it for another process

    MessageOf() = default;
    MessageOf(char const* /*what*/, Described const& /*type*/) {}

    [[nodiscard]] static constexpr std::uint32_t slot_lines() { return slot_lines_of<T>; }
    [[nodiscard]] static Near near() { return Near(); }
    [[nodiscard]] static Far const& far(HostMapped const& access) { return access; }
    // The device's end of an object.
    template <class End, class View>
    [[nodiscard]] static End device_end(View const& view) {
        return End(view);
    }

    [[nodiscard]] static T const& wire(T const& message) { return message; }
    // Throws UsageError for messages at a null pointer, if there are any.
    template <class Row>
    static void require(Row row) {
        require_messages(row);
    }
    template <class Row>
    [[nodiscard]] static std::size_t count(Row row) {
        return row.size();
    }
    // Returns the messages behind the first `done`.
    template <class Row>
    [[nodiscard]] static Row rest(Row row, std::size_t done) {
        return row.subspan(done);
    }
    // Calls `send` with the first of `row`, in the ends' form, and returns its result.
    template <class Send>
    static auto send_first(GivenRow row, Send const& send) {
        return send(row);
    }
    // Sends all messages; fewer if `send` sends fewer.
    template <class Send>
    static auto send_row(GivenRow row, Send const& send) {
        return send(row);
    }
    static void put(T const& taken, RoomForRow row, std::size_t index) { row[index] = taken; }
    template <class Reader>  // of a mailbox
    [[nodiscard]] static bool refresh(Reader& reader, T& value) {
        return reader.refresh(value);
    }
    // Takes the next messages into the first of `row`, and returns how many.
    template <class End>
    static std::size_t take_row(End& end, RoomForRow row) {
        return end.try_pop_n(row.data(), row.size());
    }
};

}  // namespace carillon::detail
