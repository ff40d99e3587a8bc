// SPDX-License-Identifier: Apache-2.0
// Objects of a kernel that the user writes, whose end on the host is another process's
// (docs/ipc.md): the owner makes them, passes their ends to the kernel and shares them by name
// (Server::share); a client gets a Mailbox, a Ring or a ChunkRing (Connection::mailbox, ring,
// chunk_ring). One client at a time has it, in memory of its own, and finds it empty. The next
// client is refused until the device's end has looked and left the last client's memory: a handler
// looks in its idle() too, or no client comes in between two requests. Of a mailbox that is so for
// a client of another user. A mailbox from the device is read by as many as ask, and written by
// none of them.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

#include "carillon/arguments.hpp"
#include "carillon/block.hpp"
#include "carillon/chunk_ring.hpp"
#include "carillon/detail/access/device.hpp"
#include "carillon/detail/host/checks.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/message_types.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/taken_once.hpp"
#include "carillon/detail/protocol/leased_ends.hpp"
#include "carillon/detail/serving/lender.hpp"
#include "carillon/detail/serving/published_object.hpp"
#include "carillon/detail/wire/line.hpp"
#include "carillon/device.hpp"
#include "carillon/for_tests.hpp"
#include "carillon/mailbox.hpp"
#include "carillon/ring.hpp"
#include "carillon/server.hpp"

namespace carillon {

struct SharedMailboxOptions {
    std::uint32_t capacity = 4;  // as MailboxOptions::capacity
    // How many ends read it on the device, 1 to 1024: one for each block. Each has to look now and
    // then, a handler's in its idle(): the next client is refused until all have left the memory of
    // the last one.
    unsigned readers = 1;
    ForTests for_tests{};
};
struct SharedRingOptions {
    std::uint32_t capacity = 256;  // slots; a power of two up to 2^20
    ForTests for_tests{};
};

template <class T, Direction direction = Direction::to_device>
class SharedMailbox;

// Parameters and limits that another process sets, or the owner itself. `T` is trivially copyable
// and at most 4 KiB. What was set last stays the value, whoever set it and whether a client is
// there. Neither copied nor moved.
template <class T>
class SharedMailbox<T, Direction::to_device> {
   public:
    // What device_handle() gives, for one thread: refresh(value), as of any mailbox's reader.
    using DeviceEnd = detail::LeasedMailboxReader<T, detail::DeviceNear, detail::DeviceFar>;

    // Throws UsageError for the options, and what Device::allocate_shared_host throws.
    explicit SharedMailbox(Device const& device, SharedMailboxOptions const& options = {});
    SharedMailbox(SharedMailbox const&) = delete;
    SharedMailbox& operator=(SharedMailbox const&) = delete;
    ~SharedMailbox() { object_->close(); }

    // An end of the device's, to be passed to a kernel by value. Throws UsageError for one that was
    // given out before, or is not.
    [[nodiscard]] DeviceEnd device_handle(
        unsigned reader = 0, CodeLocation const& where = CodeLocation::current()) const {
        return detail::in_call("SharedMailbox::device_handle", [&] {
            return DeviceEnd{object_->take("SharedMailbox::device_handle", reader, where), reader,
                             object_->object_shape(), own_.device_handle()};
        });
    }
    // The owner's own value, whether a client has the mailbox or none: no client can keep the owner
    // from it. An end on the device that finds a client's value new at the same time takes this
    // one. Throws ForkError, VulkanError.
    void set(T const& value) {
        detail::in_call("SharedMailbox::set", this, mark_, [&] {
            own_.set(value);
            object_->tell_own_set();
        });
    }
    // As Server::share.
    void serve(Server& server, NameArgument name) const {
        detail::ServerMaker::share(server, name, object_);
    }

   private:
    static_assert((detail::check_mailbox<T>(), std::is_trivially_copyable_v<DeviceEnd>));

    [[nodiscard]] static std::shared_ptr<detail::Lender> make_object(
        Device const& device, SharedMailboxOptions const& options);

    detail::ProcessMark mark_;
    std::shared_ptr<detail::Lender> object_;
    // The owner's values. An end looks there when its lease says that one was set: the first value
    // is never seen.
    Mailbox<T, Direction::to_device> own_;
};

// The status of a kernel, which other processes read: as many at once as ask, of memory that they
// can map for reading alone. The latest value wins, and none of them keeps the kernel, or another,
// waiting. `T` is trivially copyable and at most 4 KiB. Neither copied nor moved.
template <class T>
class SharedMailbox<T, Direction::to_host> {
   public:
    using HostEnd = detail::MailboxReader<T, detail::HostCached>;
    // What device_handle() gives, for one thread: set(value), as of any mailbox's writer.
    using DeviceEnd = detail::MailboxWriter<T, detail::DeviceFar>;

    // `initial` is the first value that a reader finds. Throws UsageError for the options,
    // UnsupportedError for a system that cannot keep clients from writing (Linux before 5.1), and
    // what Device::register_host throws.
    explicit SharedMailbox(Device const& device, T const& initial,
                           MailboxOptions const& options = {});
    SharedMailbox(SharedMailbox const&) = delete;
    SharedMailbox& operator=(SharedMailbox const&) = delete;
    ~SharedMailbox() { object_->close(); }

    // The device's end, to be passed to a kernel by value, once. Throws UsageError the second time.
    [[nodiscard]] DeviceEnd device_handle(
        CodeLocation const& where = CodeLocation::current()) const {
        return detail::in_call("SharedMailbox::device_handle", [&] {
            detail::MailboxView view = object_->device_view();
            taken_.take("SharedMailbox::device_handle", where, {view.lines, view.newest});
            ++view.first;  // after the initial value
            return DeviceEnd(view);
        });
    }
    // For a thread of the owner's, while the mailbox lives: refresh(value).
    [[nodiscard]] HostEnd reader() const { return HostEnd(object_->host_view()); }
    // As Server::share.
    void serve(Server& server, NameArgument name) const {
        detail::ServerMaker::share(server, name, object_);
    }

   private:
    static_assert(std::is_trivially_copyable_v<DeviceEnd>);
    std::shared_ptr<detail::PublishedObject> object_;
    mutable detail::TakenOnce taken_;
};

// Messages to or from another process. `T` is trivially copyable and at most 1 KiB. Neither copied
// nor moved.
template <class T, Direction direction>
class SharedRing {
   public:
    static constexpr bool to_device = direction == Direction::to_device;
    // What device_handle() gives, for one thread: try_pop(message), or try_push(message), which is
    // false while there is no client, and look(), for a kernel that pushes seldom: the next client
    // waits until it has looked.
    using DeviceEnd =
        std::conditional_t<to_device,
                           detail::LeasedConsumer<T, detail::DeviceNear, detail::DeviceFar>,
                           detail::LeasedProducer<T, detail::DeviceNear, detail::DeviceFar>>;

    // Throws UsageError for the options, and what Device::allocate_shared_host throws.
    explicit SharedRing(Device const& device, SharedRingOptions const& options = {});
    SharedRing(SharedRing const&) = delete;
    SharedRing& operator=(SharedRing const&) = delete;
    ~SharedRing() { object_->close(); }

    // The device's end, to be passed to a kernel by value, once. Throws UsageError the second time.
    [[nodiscard]] DeviceEnd device_handle(
        CodeLocation const& where = CodeLocation::current()) const {
        return detail::in_call("SharedRing::device_handle", [&] {
            return DeviceEnd{object_->take("SharedRing::device_handle", 0, where), 0,
                             object_->object_shape()};
        });
    }
    // As Server::share.
    void serve(Server& server, NameArgument name) const {
        detail::ServerMaker::share(server, name, object_);
    }

   private:
    static_assert(std::is_trivially_copyable_v<DeviceEnd>);
    std::shared_ptr<detail::Lender> object_;
};

// Large buffers that another process fills in place. `Meta` is trivially copyable and at most 40
// bytes. A kernel takes what is in a chunk for what a stranger sends, and which may change while it
// is read. Neither copied nor moved.
template <class Meta = NoMeta>
class SharedChunkRing {
   public:
    // What device_handle() gives, for one thread: try_take(chunk), release(sequence).
    using DeviceEnd = detail::LeasedChunkReader<Meta, detail::DeviceNear, detail::DeviceFar>;

    // ChunkRingOptions::wait is not looked at. Throws UsageError for the options, and what
    // Device::allocate_shared_host throws.
    explicit SharedChunkRing(Device const& device, ChunkRingOptions const& options = {});
    SharedChunkRing(SharedChunkRing const&) = delete;
    SharedChunkRing& operator=(SharedChunkRing const&) = delete;
    ~SharedChunkRing() { object_->close(); }

    // The device's end, to be passed to a kernel by value, once. Throws UsageError the second time.
    [[nodiscard]] DeviceEnd device_handle(
        CodeLocation const& where = CodeLocation::current()) const {
        return detail::in_call("SharedChunkRing::device_handle", [&] {
            return DeviceEnd{object_->take("SharedChunkRing::device_handle", 0, where), 0,
                             object_->object_shape()};
        });
    }
    // As Server::share.
    void serve(Server& server, NameArgument name) const {
        detail::ServerMaker::share(server, name, object_);
    }

   private:
    static_assert(std::is_trivially_copyable_v<DeviceEnd>);
    std::shared_ptr<detail::Lender> object_;
};

template <class T>
SharedMailbox<T, Direction::to_device>::SharedMailbox(Device const& device,
                                                      SharedMailboxOptions const& options) try
    : object_(make_object(device, options)),
      own_(device, __builtin_bit_cast(T, detail::BytesOf<T>{}), {.capacity = options.capacity}) {
} catch (...) {
    detail::throw_named("SharedMailbox");
}

template <class T>
std::shared_ptr<detail::Lender> SharedMailbox<T, Direction::to_device>::make_object(
    Device const& device, SharedMailboxOptions const& options) {
    detail::check_mailbox<T>();
    detail::check_shared(options.capacity, options.readers, options.for_tests.first);
    detail::ObjectShape const shape{options.capacity, detail::mailbox_lines<T>, 0};
    return std::make_shared<detail::Lender>(device, ObjectKind::mailbox, shape,
                                            detail::message_type<T>(detail::mailbox_lines<T>),
                                            options.readers, options.for_tests.first);
}

template <class T>
SharedMailbox<T, Direction::to_host>::SharedMailbox(Device const& device, T const& initial,
                                                    MailboxOptions const& options) try {
    detail::check_mailbox<T>();
    detail::check_shared(options.capacity, 1, options.for_tests.first);
    detail::ObjectShape const shape{options.capacity, detail::mailbox_lines<T>, 0};
    object_ = std::make_shared<detail::PublishedObject>(
        device, ObjectKind::mailbox_to_host, shape,
        detail::message_type<T>(detail::mailbox_lines<T>), options.for_tests.first, true);
    // The CPU's own memory, of which every word carries its tag (detail/protocol/mailbox.hpp).
    detail::MailboxWriter<T, HostMapped>(object_->host_view(), HostMapped(HostStores{}))
        .set(initial);
} catch (...) {
    detail::throw_named("SharedMailbox");
}

template <class T, Direction direction>
SharedRing<T, direction>::SharedRing(Device const& device, SharedRingOptions const& options) try {
    detail::check_payload<T>();
    detail::check_shared(options.capacity, 1, options.for_tests.first);
    detail::ObjectShape const shape{options.capacity, detail::slot_lines_of<T>, 0};
    object_ = std::make_shared<detail::Lender>(
        device, to_device ? ObjectKind::ring_to_device : ObjectKind::ring_to_host, shape,
        detail::message_type<T>(), 1, options.for_tests.first);
} catch (...) {
    detail::throw_named("SharedRing");
}

template <class Meta>
SharedChunkRing<Meta>::SharedChunkRing(Device const& device, ChunkRingOptions const& options) try {
    detail::check_meta<Meta>();
    detail::check_shared(options.chunks, 1, options.for_tests.first);
    detail::check_chunk_bytes(options.chunk_bytes);
    detail::ObjectShape const shape{options.chunks, 1,
                                    static_cast<std::uint32_t>(options.chunk_bytes)};
    object_ =
        std::make_shared<detail::Lender>(device, ObjectKind::chunk_ring, shape,
                                         detail::message_type<Meta>(1), 1, options.for_tests.first);
} catch (...) {
    detail::throw_named("SharedChunkRing");
}

}  // namespace carillon
