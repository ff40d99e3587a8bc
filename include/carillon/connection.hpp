// SPDX-License-Identifier: Apache-2.0
// Commands a kernel that another process owns, without CUDA (docs/ipc.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "carillon/arguments.hpp"
#include "carillon/chunk_ring.hpp"
#include "carillon/client.hpp"
#include "carillon/counters.hpp"
#include "carillon/detail/host/channel_lease.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/message_of.hpp"
#include "carillon/detail/host/message_types.hpp"
#include "carillon/detail/kernel/handler_messages.hpp"
#include "carillon/detail/protocol/object_view.hpp"
#include "carillon/detail/wire/language.hpp"
#include "carillon/device.hpp"
#include "carillon/kernel_options.hpp"
#include "carillon/log_reader.hpp"
#include "carillon/mailbox.hpp"
#include "carillon/object_kind.hpp"
#include "carillon/ring.hpp"
#include "carillon/wait.hpp"

namespace carillon {
class CARILLON_LAYOUT Store;
namespace detail {
class ClientSession;

// A message's type, as the owner compares it; bytes.hpp has the same for Bytes.
template <class T>
[[nodiscard]] MessageType described(MessageOf<T> const& /*message*/,
                                    typename MessageOf<T>::Described const& /*type*/,
                                    std::uint32_t slot_lines) {
    return message_type<T>(slot_lines);
}
}  // namespace detail

struct ConnectOptions {
    // How the owner calls this client: 1 to 63 characters. Empty: this program's name.
    std::string name{};
    // How long the connection, each channel, status(), and each answer of a store may take;
    // Store::list() ten times as long.
    std::chrono::nanoseconds timeout = std::chrono::seconds(5);
    // For a client that is started before its owner, or outlives it. For so long it is tried again
    // to connect while nobody listens at the path, whoever does has ended or does not answer, or
    // has no room. Each call that attaches tries for so long, too, from its own beginning on, while
    // the owner does not serve the object yet, or has no store yet, has no place of it, or is about
    // to end it. 0: each is tried once.
    std::chrono::nanoseconds wait_for_owner = std::chrono::nanoseconds(0);
    // How channels wait; none: HostWait::for_kernel chooses.
    std::optional<HostWait::Style> wait = std::nullopt;
    // So long a call looks for the owner's answer before it sleeps, and next() of what waits for
    // sealed buffers for one; as ServeOptions::spin.
    std::chrono::nanoseconds spin = std::chrono::microseconds(50);
    // The GPU that kernels of this process are to find buffers on (Buffer::device_ptr). None is
    // needed otherwise, nor CUDA.
    std::optional<Device> device = std::nullopt;
    // Rings, and buffers that are made here, in host memory even where device memory can be mapped:
    // a client that comes and goes does not open Vulkan then, which interrupts the kernel for a
    // moment.
    bool host_memory = false;
    // Of a store's memory that is kept mapped for the next buffer that has it, at most.
    std::size_t kept_bytes = std::size_t{1} << 28;
    unsigned copy_threads = 4;  // as StoreOptions::copy_threads
    // The user whose owner is meant. Any other at the path is refused (RefusalReason::wrong_owner)
    // before anything is sent to it: in a folder like /tmp whoever comes first may listen there.
    // None: this process's own user, or root.
    std::optional<std::uint32_t> owner_user = std::nullopt;
};

// Of a channel to another process's kernel: for reports.
struct ConnectedOwner {
    std::string name;          // ServeOptions::name
    std::int32_t process = 0;  // the owner's number; 0 in another namespace
    // Another number whenever an owner begins to serve: the same path may lead to another one.
    std::uint64_t instance = 0;
    std::uint32_t user = 0;  // as the system says it
};

// A block of another process's kernel, or the one end of an object, and the client that has it.
struct ServedBlock {
    BlockActivity activity = BlockActivity::idle;
    std::string client;  // as it calls itself; empty: nobody has the block
    std::int32_t process = 0;
    std::uint32_t user = 0;
    std::chrono::milliseconds held{0};  // for how long it has had it
    ChannelCounters counters;           // of what it has sent, as it says itself
    ChannelCounters gone;               // of all that had the block before
    BlockBeats beats;
    // Of both: but for `depth` it only grows, whichever clients come and go.
    [[nodiscard]] ChannelCounters all() const;
};
struct ServedObject {
    std::string name;  // that clients ask for
    ObjectKind kind = ObjectKind::kernel;
    KernelState state = KernelState::running;
    bool emulated = false;            // its device is threads of a CPU
    std::vector<ServedBlock> blocks;  // one unless it is a kernel
};
// The owner's store of buffers; Connection::store() lists them.
struct StoreStatus {
    std::uint64_t buffers = 0;
    std::uint64_t sealed = 0;      // of them
    std::uint64_t bytes = 0;       // of memory that they take
    std::uint64_t most_bytes = 0;  // that they may take (StoreOptions::bytes)
};
struct OwnerStatus {
    std::vector<ServedObject> objects;  // in the order in which they were added
    std::optional<StoreStatus> store{};
};

// A connection to the owner of a kernel, who serves at a Unix socket. This process needs neither
// CUDA nor a GPU of its own; Vulkan where the kernel's rings are in GPU memory, and without it
// rings in host memory, which are slower. From any thread.
class CARILLON_LAYOUT Connection {
   public:
    // Throws SystemError where nobody listens at `path` (ConnectOptions::wait_for_owner) or it is
    // not for this user, OwnerGoneError where whoever listens ends meanwhile, ProtocolError where
    // that is no Server, RefusedError for what the owner says no to and for an owner of another
    // user (ConnectOptions::owner_user), TimeoutError, UsageError for the options.
    explicit Connection(PathArgument const& path, ConnectOptions const& options = {});
    Connection(Connection&&) noexcept;
    Connection& operator=(Connection&&) noexcept;
    Connection(Connection const&) = delete;
    Connection& operator=(Connection const&) = delete;
    // Channels that were made by it stay connected until they go.
    ~Connection();

    // A message's description beside its type: a BytesType for Bytes, nothing for a type.
    template <class T>
    using Described = typename detail::MessageOf<T>::Described;

    // A channel to the kernel that the owner serves as `object`, for messages of one type each way,
    // or as a handler of the owner's sends and takes them, which may have a table of commands. Its
    // requests fail with OwnerGoneError when the owner's process has ended. Throws RefusedError
    // when there is no such kernel, every block has a client, or the types are not the kernel's;
    // TimeoutError; OwnerGoneError. For Bytes this call, and each of those below, gets a BytesType,
    // and throws UsageError for that, too.
    template <class Request, class Reply>
    [[nodiscard]] Channel<Request, Reply> channel(NameArgument object = "kernel",
                                                  Described<Request> const& request = {},
                                                  Described<Reply> const& reply = {}) const {
        return detail::in_call("Connection::channel", [&] {
            detail::MessageOf<Request> const asks("request", request);
            detail::MessageOf<Reply> const answers("reply", reply);
            return Channel<Request, Reply>(
                this->attach(object, {described(asks, request, asks.slot_lines()),
                                      described(answers, reply, answers.slot_lines())}),
                asks, answers);
        });
    }
    template <class Handler>
    [[nodiscard]] ClientOf<Handler> channel(NameArgument object = "kernel") const {
        return ClientOf<Handler>(
            attach(object, detail::MessageTypes::of<detail::MessagesOf<Handler>>()));
    }

    // The host's end of an object that the owner shares by that name (Server::add). It is this
    // client's alone until it goes, and empty: what a client before it has left is not there. A
    // mailbox to the host is read by others too, and has the kernel's last value. What it does
    // throws OwnerGoneError when the owner has ended, StoppedError when the owner has destroyed the
    // object. Each of these throws RefusedError when there is no such object, it was destroyed, it
    // has a client, or its type is another; TimeoutError; OwnerGoneError.
    template <class T, Direction direction = Direction::to_device>
    [[nodiscard]] Mailbox<T, direction> mailbox(NameArgument object,
                                                Described<T> const& type = {}) const {
        detail::check_mailbox<T>();
        return detail::in_call("Connection::mailbox", [&] {
            detail::ValueOf<T> const value("value", type);
            return Mailbox<T, direction>(
                value, this->end_of<detail::MailboxLayout>(
                           object,
                           direction == Direction::to_device ? ObjectKind::mailbox
                                                             : ObjectKind::mailbox_to_host,
                           described(value, type, value.slot_lines())));
        });
    }
    // Towards the kernel, or from it.
    template <class T, Direction direction>
    [[nodiscard]] Ring<T, direction> ring(NameArgument object,
                                          Described<T> const& type = {}) const {
        detail::check_payload<T>();
        return detail::in_call("Connection::ring", [&] {
            detail::MessageOf<T> const message("message", type);
            using Layout = std::conditional_t<direction == Direction::to_device,
                                              detail::RingToDeviceLayout, detail::RingToHostLayout>;
            return Ring<T, direction>(
                message,
                this->end_of<Layout>(object,
                                     direction == Direction::to_device ? ObjectKind::ring_to_device
                                                                       : ObjectKind::ring_to_host,
                                     described(message, type, message.slot_lines())));
        });
    }
    template <class Meta = NoMeta>
    [[nodiscard]] ChunkRing<Meta> chunk_ring(NameArgument object,
                                             Described<Meta> const& type = {}) const {
        detail::check_meta<Meta>();
        return detail::in_call("Connection::chunk_ring", [&] {
            detail::MetaOf<Meta> const beside("meta", type);
            return ChunkRing<Meta>(
                beside,
                std::make_shared<detail::ChunkRingState>(this->end_of<detail::ChunkRingLayout>(
                    object, ObjectKind::chunk_ring, described(beside, type, 1))));
        });
    }

    // A log that the owner shares by that name, from the oldest message on that is there still. It
    // takes nothing from the owner or from other clients. Throws as those above.
    [[nodiscard]] LogReader log(NameArgument object) const;

    // The owner's store of buffers, by a connection of its own: where the owner destroys the store,
    // that connection ends, and this one does not. Include carillon/store.hpp. Throws as Store's
    // constructor.
    [[nodiscard]] Store store() const;

    [[nodiscard]] ConnectedOwner const& owner() const;
    // What there is, what each is at, who has which of its blocks, and what has gone through them.
    // No kernel is asked, and no client disturbed. Throws OwnerGoneError, TimeoutError.
    [[nodiscard]] OwnerStatus status() const;
    // Why the last channel's rings are in host memory although the kernel's device has memory of
    // its own; empty if they are not.
    [[nodiscard]] std::string why_host_memory() const;

   private:
    [[nodiscard]] detail::ChannelParts attach(std::string_view object,
                                              detail::MessageTypes const& types) const;
    template <class Layout>
    [[nodiscard]] detail::LeasedEnd<typename Layout::View> end_of(
        std::string_view object, ObjectKind kind, detail::MessageType const& type) const;

    std::shared_ptr<detail::ClientSession> session_;
};

// The same as the constructor.
[[nodiscard]] inline Connection connect(PathArgument const& path,
                                        ConnectOptions const& options = {}) {
    return Connection(path, options);
}

}  // namespace carillon
