// SPDX-License-Identifier: Apache-2.0
// SharedMailbox, SharedRing and SharedChunkRing, for kernels of your own whose host end another
// process has (docs/dev/protocol.md).
//
// The owner makes them, passes their device ends to the kernel and shares them by name
// (Server::add). A client gets a Mailbox, a Ring or a ChunkRing (Connection::mailbox, ring,
// chunk_ring). One client at a time has the object, in its own memory, and finds it empty. The next
// client waits until the device's end has looked at the object and left the last client's memory;
// the owner refuses that client if this takes seconds. Therefore a handler must also look at the
// object in its idle(): otherwise no client can attach while no request comes. With a mailbox only
// a client of another user is refused. A mailbox from the device has any number of clients that
// read it, and none that writes it.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "carillon/arguments.hpp"
#include "carillon/block.hpp"
#include "carillon/chunk_ring.hpp"
#include "carillon/detail/access/device_near_far.hpp"
#include "carillon/detail/host/argument_checks.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/message_types.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/taken_once.hpp"
#include "carillon/detail/protocol/leased_ends.hpp"
#include "carillon/detail/serving/lender.hpp"
#include "carillon/detail/wire/line.hpp"
#include "carillon/device.hpp"
#include "carillon/mailbox.hpp"
#include "carillon/ring.hpp"
#include "carillon/server.hpp"

namespace carillon {

struct SharedMailboxOptions {
    std::uint32_t capacity = 4;  // see MailboxOptions::capacity
    // The number of ends that read it on the device, 1 to 1024: one per block. Each end must look
    // regularly (a handler's end in the handler's idle()): the next client waits until every end
    // has left the last client's memory.
    unsigned readers = 1;
    ForTests for_tests{};
};
struct SharedRingOptions {
    std::uint32_t capacity = 256;  // slots; a power of two from 2 to 2^20
    ForTests for_tests{};
};

namespace detail {

// The common part of all shared objects. Servers and clients may keep the `Object` longer.
template <class Object>
class SharedObject {
   public:
    SharedObject& operator=(SharedObject&&) = delete;
    // Shares the object by a name, see Server::add.
    void serve(Server& server, NameArgument name) const {
        in_call("Server::add", [&] { ServerMaker::add(server, name, object_); });
    }

   protected:
    // `ends` is the number of the device's ends.
    SharedObject(Device const& device, ObjectKind kind, ObjectShape const& shape,
                 MessageType const& type, Sequence first, unsigned ends = 1)
        : object_((check_shared(shape.capacity, ends, first),
                   std::make_shared<Object>(device, kind, shape, type, ends, first))) {}
    ~SharedObject() { object_->close(); }
    // Returns the device's only end; `call` names the public call.
    template <class End>
    [[nodiscard]] End device_end(std::string_view call, CodeLocation const& where) const {
        return in_call(call, [&] {
            return End{object_->take(call, 0, where), 0, object_->object_shape()};
        });
    }

    std::shared_ptr<Object> object_;
};

}  // namespace detail

template <class T, Direction direction = Direction::to_device>
class SharedMailbox;

// Parameters and limits that another process or the owner sets. `T` is trivially copyable and at
// most 4 KiB. The latest value stays, with or without a client. Neither copied nor moved.
template <class T>
class SharedMailbox<T, Direction::to_device> : private detail::SharedObject<detail::Lender> {
   public:
    using detail::SharedObject<detail::Lender>::serve;

    // The type of device_handle(), for one thread: refresh(value), like any mailbox's reader.
    using DeviceEnd = detail::LeasedMailboxReader<T, detail::DeviceNear, detail::DeviceFar>;

    // Throws UsageError for the options, and what Device::allocate_shared_host throws.
    explicit SharedMailbox(Device const& device, SharedMailboxOptions const& options = {}) try
        : SharedObject(device, ObjectKind::mailbox, {options.capacity, detail::mailbox_lines<T>, 0},
                       detail::message_type<T>(detail::mailbox_lines<T>), options.for_tests.first,
                       options.readers),
          own_(device, __builtin_bit_cast(T, detail::BytesOf<T>{}),
               {.capacity = options.capacity}) {
    } catch (...) {
        detail::throw_named("SharedMailbox");
    }

    // Returns the device's end number `reader`, to be passed to a kernel by value. Throws
    // UsageError for a number that was given out before, or does not exist.
    [[nodiscard]] DeviceEnd device_handle(
        unsigned reader = 0, CodeLocation const& where = CodeLocation::current()) const {
        return detail::in_call("SharedMailbox::device_handle", [&] {
            return DeviceEnd{object_->take("SharedMailbox::device_handle", reader, where), reader,
                             object_->object_shape(), own_.device_handle()};
        });
    }
    // Sets the owner's own value, with or without a client: no client can prevent it. An end on the
    // device that finds a client's new value at the same time takes the owner's. Throws ForkError,
    // VulkanError.
    void set(T const& value) {
        detail::in_call("SharedMailbox::set", this, mark_, [&] {
            own_.set(value);
            object_->tell_own_set();
        });
    }

   private:
    static_assert((detail::check_mailbox<T>(), std::is_trivially_copyable_v<DeviceEnd>));

    detail::ProcessMark mark_;
    // The owner's values. An end reads them only if its lease says that one was set: nobody sees
    // the first.
    Mailbox<T, Direction::to_device> own_;
};

// A kernel's status, which any number of other processes read, in memory that they can map only for
// reading. Readers get the latest value; no reader delays the kernel or another reader. `T` is
// trivially copyable and at most 4 KiB. Neither copied nor moved.
template <class T>
class SharedMailbox<T, Direction::to_host> : private detail::SharedObject<detail::PublishedObject> {
   public:
    using detail::SharedObject<detail::PublishedObject>::serve;

    using HostEnd = detail::MailboxReader<T, detail::HostCached>;
    // The type of device_handle(), for one thread: set(value), like any mailbox's writer.
    using DeviceEnd = detail::MailboxWriter<T, detail::DeviceFar>;

    // `initial` is the first value that readers find. Throws UsageError for the options,
    // UnsupportedError on a system that cannot keep clients from writing (Linux before 5.1), and
    // what Device::register_host throws.
    explicit SharedMailbox(Device const& device, T const& initial,
                           MailboxOptions const& options = {}) try
        : SharedObject(device, ObjectKind::mailbox_to_host,
                       {options.capacity, detail::mailbox_lines<T>, 0},
                       detail::message_type<T>(detail::mailbox_lines<T>), options.for_tests.first) {
        // This is the CPU's own memory, where every word has its tag
        // (detail/protocol/mailbox_protocol.hpp).
        detail::MailboxWriter<T, HostMapped>(object_->host_view(), HostMapped(HostStores{}))
            .set(initial);
    } catch (...) {
        detail::throw_named("SharedMailbox");
    }

    // Returns the device's end, to be passed to a kernel by value, once. Throws UsageError the
    // second time.
    [[nodiscard]] DeviceEnd device_handle(
        CodeLocation const& where = CodeLocation::current()) const {
        return detail::in_call("SharedMailbox::device_handle", [&] {
            detail::MailboxView view = object_->device_view();
            taken_.take("SharedMailbox::device_handle", where, {view.lines, view.newest});
            ++view.first;  // after the initial value
            return DeviceEnd(view);
        });
    }
    // Makes a reader for a thread of the owner, while the mailbox lives: refresh(value).
    [[nodiscard]] HostEnd reader() const { return HostEnd(object_->host_view()); }

   private:
    static_assert((detail::check_mailbox<T>(), std::is_trivially_copyable_v<DeviceEnd>));
    mutable detail::TakenOnce taken_;
};

// Messages to or from another process. `T` is trivially copyable and at most 1 KiB. Neither copied
// nor moved.
template <class T, Direction direction>
class SharedRing : private detail::SharedObject<detail::Lender> {
   public:
    using detail::SharedObject<detail::Lender>::serve;

    static constexpr bool to_device = direction == Direction::to_device;
    // The type of device_handle(), for one thread. To the device: try_pop(message). To the host:
    // try_push(message), which returns false while there is no client, and look(), for a kernel
    // that rarely pushes: the next client waits until it has looked.
    using DeviceEnd =
        std::conditional_t<to_device,
                           detail::LeasedConsumer<T, detail::DeviceNear, detail::DeviceFar>,
                           detail::LeasedProducer<T, detail::DeviceNear, detail::DeviceFar>>;

    // Throws UsageError for the options, and what Device::allocate_shared_host throws.
    explicit SharedRing(Device const& device, SharedRingOptions const& options = {}) try
        : SharedObject(device, to_device ? ObjectKind::ring_to_device : ObjectKind::ring_to_host,
                       {options.capacity, detail::slot_lines_of<T>, 0}, detail::message_type<T>(),
                       options.for_tests.first) {
    } catch (...) {
        detail::throw_named("SharedRing");
    }

    // Returns the device's end, to be passed to a kernel by value, once. Throws UsageError the
    // second time.
    [[nodiscard]] DeviceEnd device_handle(
        CodeLocation const& where = CodeLocation::current()) const {
        return device_end<DeviceEnd>("SharedRing::device_handle", where);
    }

   private:
    static_assert((detail::check_payload<T>(), std::is_trivially_copyable_v<DeviceEnd>));
};

// Large buffers that another process fills in place. `Meta` is trivially copyable and at most 40
// bytes. A kernel must not trust a chunk's bytes: another process wrote them, and may change them
// while the kernel reads. Neither copied nor moved.
template <class Meta = NoMeta>
class SharedChunkRing : private detail::SharedObject<detail::Lender> {
   public:
    using detail::SharedObject<detail::Lender>::serve;

    // The type of device_handle(), for one thread: try_take(chunk), release(sequence).
    using DeviceEnd = detail::LeasedChunkReader<Meta, detail::DeviceNear, detail::DeviceFar>;

    // ChunkRingOptions::wait is ignored. Throws UsageError for the options, and what
    // Device::allocate_shared_host throws.
    explicit SharedChunkRing(Device const& device, ChunkRingOptions const& options = {}) try
        : SharedObject(device, ObjectKind::chunk_ring,
                       {options.chunks, 1, detail::checked_chunk_bytes(options.chunk_bytes)},
                       detail::message_type<Meta>(1), options.for_tests.first) {
    } catch (...) {
        detail::throw_named("SharedChunkRing");
    }

    // Returns the device's end, to be passed to a kernel by value, once. Throws UsageError the
    // second time.
    [[nodiscard]] DeviceEnd device_handle(
        CodeLocation const& where = CodeLocation::current()) const {
        return device_end<DeviceEnd>("SharedChunkRing::device_handle", where);
    }

   private:
    static_assert((detail::check_meta<Meta>(), std::is_trivially_copyable_v<DeviceEnd>));
};

}  // namespace carillon
