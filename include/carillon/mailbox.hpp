// SPDX-License-Identifier: Apache-2.0
// Parameters, limits or a kill switch to a running kernel, and its status back: values of up to 4
// KiB of which only the latest counts.
#pragma once

#include <cstdint>
#include <type_traits>

#include "carillon/block.hpp"
#include "carillon/detail/host/argument_checks.hpp"
#include "carillon/detail/host/channel_lease.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/message_of.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/taken_once.hpp"
#include "carillon/detail/protocol/endpoints.hpp"
#include "carillon/detail/protocol/mailbox_protocol.hpp"
#include "carillon/device.hpp"
#include "carillon/for_tests.hpp"
#include "carillon/memory.hpp"
#include "carillon/ring.hpp"

namespace carillon {

struct MailboxOptions {
    // The number of values in memory at once, a power of two from 2 on. While the writer writes
    // one, a reader has time to copy another. Slow readers of large values need more.
    std::uint32_t capacity = 4;
    ForTests for_tests{};
};

// The device's end for all threads of a block. All of them call refresh(value) and share the
// copying. `value` is one object for all, in shared or global memory: when the call returns every
// thread sees it whole, and the next call writes it only when all threads have called. refresh()
// returns the same to every thread. On the emulated device one thread is the block.
template <class T>
using BlockMailboxReader = detail::MailboxReader<T, detail::DeviceNear, BlockThreads>;

namespace detail {

// A value, for a mailbox.
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

// `T` is trivially copyable and at most 4 KiB, or it is Bytes: values of 1 to 4096 bytes, which
// calls take and fill as spans, see Ring. The latest value wins; a reader never sees a value that
// it did not read in time. One writer, in one thread at a time, and any number of readers; none of
// them ever waits. Neither copied nor moved: its end numbers the values.
template <class T, Direction direction>
class Mailbox {
    using Value = detail::ValueOf<T>;
    using Given = typename Value::Given;  // T const&, or a span of bytes
    static constexpr bool by_bytes = detail::IsBytes<T>;

   public:
    static constexpr bool to_device = direction == Direction::to_device;
    // The host's end, for reader(), and the device's end, for device_handle().
    using HostEnd = std::conditional_t<to_device, typename Value::Writer, typename Value::Reader>;
    using DeviceEnd =
        std::conditional_t<to_device, typename Value::DeviceReader, typename Value::DeviceWriter>;
    using BlockEnd = BlockMailboxReader<T>;  // the type of block_handle()

    // `initial` is the first value that a reader finds; with Bytes its size is that of every value.
    // Throws UsageError for the options, and what Device::allocate throws.
    Mailbox(Device const& device, Given initial, MailboxOptions const& options = {}) try
        : value_(device, initial),
          options_(checked(options)),
          memory_(to_device ? device.allocate(size()) : device.allocate_host(size())),
          host_(make_host_end(device, initial)) {
    } catch (...) {
        detail::throw_named("Mailbox");
    }
    Mailbox(Mailbox const&) = delete;
    Mailbox& operator=(Mailbox const&) = delete;

    // The device's end, to be passed to a kernel by value. Every copy of a reading end is a reader
    // of its own, for one thread. A writing end is given once: the second call throws UsageError.
    // So does a call for a mailbox of another process (Connection::mailbox). With Bytes the end is
    // for a thread that stands in for a kernel, see Ring.
    [[nodiscard]] DeviceEnd device_handle(
        CodeLocation const& where = CodeLocation::current()) const {
        return detail::in_call("Mailbox::device_handle", [&] {
            lent_by_.require_own_end();
            detail::MailboxView view = view_at(memory_.device_ptr());
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
            lent_by_.require_own_end();
            return BlockEnd(view_at(memory_.device_ptr()));
        });
    }

    // `data` says that the value refers to device memory that the caller has written. For a mailbox
    // of another process throws OwnerGoneError if that process has ended, and StoppedError if it
    // has destroyed the mailbox.
    void set(Given value, OutOfLine data = OutOfLine::none) requires to_device {
        detail::in_call("Mailbox::set", this, mark_, [&] {
            lent_by_.require_there();
            host_.set(value_.wire(value), data);
        });
    }

    // MailboxReader::refresh, for one thread. If no value is new it throws what set() throws.
    [[nodiscard]] bool refresh(typename Value::Room value) requires(!to_device) {
        return detail::in_call("Mailbox::refresh", this, mark_, [&] {
            if (value_.refresh(host_, value)) return true;
            lent_by_.require_there();
            return false;
        });
    }
    // Another reader for another thread, while the mailbox lives. If another process lends the
    // mailbox, that reader does not notice that process's end.
    [[nodiscard]] HostEnd reader() const requires(!to_device && !by_bytes) {
        return HostEnd(lent_by_.another() ? lent_view_ : view_at(memory_.host_ptr()));
    }

    [[nodiscard]] std::size_t value_bytes() const requires by_bytes { return value_.bytes(); }

   private:
    static_assert(by_bytes || std::is_trivially_copyable_v<DeviceEnd>);
    static_assert(std::is_trivially_copyable_v<BlockEnd>);

    static MailboxOptions const& checked(MailboxOptions const& options) {
        detail::check_capacity(options.capacity);
        detail::check_first(options.for_tests.first);
        return options;
    }
    // A line for `newest`, and the slots.
    [[nodiscard]] std::size_t size() const {
        return (1 + std::size_t{options_.capacity} * value_.slot_lines()) * sizeof(detail::Line);
    }

    [[nodiscard]] detail::MailboxView view_at(void* begin) const {
        auto* const lines = static_cast<detail::Line*>(begin);
        return {lines + 1, &lines->quads[0].low, options_.capacity, value_.slot_lines(),
                options_.for_tests.first};
    }

    [[nodiscard]] HostEnd make_host_end(Device const& device, Given initial) const {
        detail::MailboxView const view = view_at(memory_.host_ptr());
        detail::format_mailbox(view);
        memory_.flush(0, memory_.size());
        // Quads need two steps; here every word has its own tag
        // (detail/protocol/mailbox_protocol.hpp).
        HostStores stores = device.stores();
        stores.mode = detail::PublishMode::one_step;
        if constexpr (to_device) {
            HostEnd writer(view, value_.far(device.access(memory_, stores)));
            writer.set(value_.wire(initial));
            return writer;
        } else {
            stores.kind = StoreKind::cached;  // the CPU's own memory
            typename Value::Writer(view, value_.far(HostMapped(stores))).set(value_.wire(initial));
            return HostEnd(view, value_.near());
        }
    }

    // For a mailbox that another process lends.
    friend class Connection;
    Mailbox(Value const& value, detail::LeasedEnd<detail::MailboxView> const& lent)
        : lent_by_(lent.lease), lent_view_(lent.view), value_(value), host_(lent_end(lent)) {}
    [[nodiscard]] HostEnd lent_end(detail::LeasedEnd<detail::MailboxView> const& lent) const {
        if constexpr (to_device) {
            return HostEnd(lent.view, value_.far(lent.far));
        } else {
            return HostEnd(lent.view, value_.near());
        }
    }

    detail::ProcessMark mark_;
    detail::LentBy lent_by_;
    detail::MailboxView lent_view_{};
    [[no_unique_address]] Value value_;
    MailboxOptions options_;
    Memory memory_;
    HostEnd host_;
    mutable detail::TakenOnce writer_taken_;
};

}  // namespace carillon
