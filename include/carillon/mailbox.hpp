// SPDX-License-Identifier: Apache-2.0
// `Mailbox`, for a kernel's parameters, limits, kill switch or status: values of up to 4 KiB of
// which only the latest counts.
#pragma once

#include <cstdint>
#include <type_traits>

#include "carillon/arguments.hpp"
#include "carillon/block.hpp"
#include "carillon/detail/host/channel_parts.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/message_of.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/taken_once.hpp"
#include "carillon/detail/protocol/endpoints.hpp"
#include "carillon/detail/protocol/mailbox_protocol.hpp"
#include "carillon/ring.hpp"

namespace carillon {

struct MailboxOptions {
    // The number of values in memory at once, a power of two from 2 to 2^20. While the writer
    // writes one value, a reader has time to copy another. Slow readers of large values need more.
    std::uint32_t capacity = 4;
    ForTests for_tests{};
};

// The device's end for all threads of a block, which all call refresh(value) and share the copying.
// `value` is one object for all, in shared or global memory. When the call returns, every thread
// sees the whole value; the next call writes it only after all threads have called. refresh()
// returns the same result to every thread. On the emulated device one thread is the block.
template <class T>
using BlockMailboxReader = detail::MailboxReader<T, detail::DeviceNear, BlockThreads>;

namespace detail {

// Makes the parts of this process's own empty mailbox. Throws what Mailbox's constructor throws.
[[nodiscard]] ObjectEnd<MailboxView> own_mailbox(Device const& device, Direction direction,
                                                 std::uint32_t slot_lines,
                                                 MailboxOptions const& options);

// A mailbox's value: a type or bytes.
template <class T>
struct ValueOf : MessageOf<T> {
    using Writer = MailboxWriter<T, HostMapped>;
    using Reader = MailboxReader<T, HostCached>;
    using DeviceWriter = MailboxWriter<T, DeviceFar>;
    using DeviceReader = MailboxReader<T, DeviceNear>;

    ValueOf(Device const& /*device*/, T const& /*initial*/) {}
    using MessageOf<T>::MessageOf;

    [[nodiscard]] static constexpr std::uint32_t slot_lines() { return mailbox_lines<T>; }
};

}  // namespace detail

// Passes the latest value to its readers, who may miss earlier values. `T` is trivially copyable
// and at most 4 KiB, or is Bytes: values of 1 to 4096 bytes, which calls take and fill as spans,
// see `Ring`. One writer, in one thread at a time, and any number of readers; none of them ever
// waits. Neither copied nor moved: its end numbers the values.
template <class T, Direction direction>
class Mailbox {
    using Value = detail::ValueOf<T>;
    using Given = typename Value::Given;  // T const&, or a span of bytes
    static constexpr bool by_bytes = detail::IsBytes<T>;

   public:
    static constexpr bool to_device = direction == Direction::to_device;
    // The type of the host's end, for reader(), and of the device's end, for device_handle().
    using HostEnd = std::conditional_t<to_device, typename Value::Writer, typename Value::Reader>;
    using DeviceEnd =
        std::conditional_t<to_device, typename Value::DeviceReader, typename Value::DeviceWriter>;
    using BlockEnd = BlockMailboxReader<T>;  // the type of block_handle()

    // `initial` is the first value that readers find; with Bytes its size is that of every value.
    // Throws UsageError for the options, and what Device::allocate throws.
    Mailbox(Device const& device, Given initial, MailboxOptions const& options = {}) try
        : value_(device, initial),
          end_(detail::own_mailbox(device, direction, value_.slot_lines(), options)),
          host_(host_end()) {
        auto const& first = value_.wire(initial);
        if constexpr (to_device) {
            host_.set(first);
        } else {
            typename Value::Writer(end_.view, value_.far(end_.far)).set(first);
        }
    } catch (...) {
        detail::throw_named("Mailbox");
    }

    // The device's end, to be passed to a kernel by value. Every copy of a reading end is a
    // separate reader, for one thread. A writing end is given out once: the second call throws
    // UsageError. Any call for a mailbox of another process (Connection::mailbox) throws
    // UsageError. With Bytes the end is for a thread that stands in for a kernel, see `Ring`.
    [[nodiscard]] DeviceEnd device_handle(
        CodeLocation const& where = CodeLocation::current()) const {
        return detail::in_call("Mailbox::device_handle", [&] {
            end_.lent_by.require_own_end();
            detail::MailboxView view = end_.device;
            if constexpr (!to_device) ++view.first;  // after the initial value
            auto end = value_.template device_end<DeviceEnd>(view);
            if constexpr (!to_device) {
                writer_taken_.take("Mailbox::device_handle", where, {view.lines, view.newest});
            }
            return end;
        });
    }
    // The reader for all threads of a block.
    [[nodiscard]] BlockEnd block_handle() const requires(to_device && !by_bytes) {
        return detail::in_call("Mailbox::block_handle", [&] {
            end_.lent_by.require_own_end();
            return BlockEnd(end_.device);
        });
    }

    // Publishes a value. `data` says that the value refers to device memory that the caller has
    // written. For a mailbox of another process, throws OwnerGoneError if that process has ended,
    // and StoppedError if it has destroyed the mailbox.
    void set(Given value, OutOfLine data = OutOfLine::none) requires to_device {
        detail::in_call("Mailbox::set", this, mark_, [&] {
            end_.lent_by.require_there();
            host_.set(value_.wire(value), data);
        });
    }

    // Takes the latest value if it is new, for one thread (MailboxReader::refresh). If no value is
    // new, throws what set() throws.
    [[nodiscard]] bool refresh(typename Value::Room value) requires(!to_device) {
        return detail::in_call("Mailbox::refresh", this, mark_, [&] {
            if (value_.refresh(host_, value)) return true;
            end_.lent_by.require_there();
            return false;
        });
    }
    // Makes another reader for another thread, while the mailbox lives. For a mailbox of another
    // process, that reader does not notice the process's end.
    [[nodiscard]] HostEnd reader() const requires(!to_device && !by_bytes) {
        return HostEnd(end_.view);
    }

    [[nodiscard]] std::size_t value_bytes() const requires by_bytes { return value_.bytes(); }

   private:
    static_assert(by_bytes || std::is_trivially_copyable_v<DeviceEnd>);
    static_assert(std::is_trivially_copyable_v<BlockEnd>);

    friend class Connection;  // for a mailbox that another process lends
    Mailbox(Value const& value, detail::ObjectEnd<detail::MailboxView> const& lent)
        : value_(value), end_(lent), host_(host_end()) {}
    [[nodiscard]] HostEnd host_end() const {
        if constexpr (to_device) {
            return HostEnd(end_.view, value_.far(end_.far));
        } else {
            return HostEnd(end_.view, value_.near());
        }
    }

    detail::ProcessMark mark_;
    [[no_unique_address]] Value value_;
    detail::ObjectEnd<detail::MailboxView> end_;
    HostEnd host_;
    mutable detail::TakenOnce writer_taken_;
};

}  // namespace carillon
