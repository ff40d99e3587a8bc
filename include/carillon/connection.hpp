// SPDX-License-Identifier: Apache-2.0
// `Connection` and connect(), for a process without CUDA that commands a kernel of another process,
// or uses its other objects (docs/dev/protocol.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "carillon/arguments.hpp"
#include "carillon/chunk_ring.hpp"
#include "carillon/client.hpp"
#include "carillon/detail/host/channel_parts.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/message_of.hpp"
#include "carillon/detail/host/message_types.hpp"
#include "carillon/detail/kernel/handler_messages.hpp"
#include "carillon/detail/protocol/object_view.hpp"
#include "carillon/detail/wire/language.hpp"
#include "carillon/kernel_state.hpp"
#include "carillon/log_record.hpp"
#include "carillon/mailbox.hpp"
#include "carillon/object_kind.hpp"
#include "carillon/ring.hpp"
#include "carillon/wait.hpp"

namespace carillon {
class CARILLON_LAYOUT Device;
class CARILLON_LAYOUT Store;
namespace detail {
class ClientSession;
class LogReaderState;

// Describes a message's type for the owner's comparison; bytes.hpp does this for Bytes.
template <class T>
[[nodiscard]] MessageType described(MessageOf<T> const& /*message*/,
                                    typename MessageOf<T>::Described const& /*type*/,
                                    std::uint32_t slot_lines) {
    return message_type<T>(slot_lines);
}
}  // namespace detail

// The options of a Connection, and of a Store of another process.
struct ConnectOptions {
    // This client's name for the owner, 1 to 63 characters. Empty: this program's name.
    std::string name{};
    // Timeout of connecting, of each channel(), of status() and of each answer of a store.
    // Store::list() may take ten times as long.
    std::chrono::nanoseconds timeout = std::chrono::seconds(5);
    // How long a client that starts before its owner, or outlives it, tries again. Connecting is
    // tried again while nobody listens at the path, or the listener has ended, does not answer or
    // has no room. Each call that attaches tries again for as long, while the owner does not serve
    // the object or the store yet, has no place left in it, or is about to end it. 0: try once.
    std::chrono::nanoseconds wait_for_owner = std::chrono::nanoseconds(0);
    // How channels wait; HostWait::for_kernel chooses the default.
    std::optional<HostWait::Style> wait = std::nullopt;
    // How long a call polls for the owner's answer before it sleeps, and next() for a sealed
    // buffer; see ServeOptions::spin.
    std::chrono::nanoseconds spin = std::chrono::microseconds(50);
    // The GPU whose kernels here read buffers (Buffer::device_ptr). Nothing else needs a GPU.
    std::shared_ptr<Device const> device = nullptr;
    // Puts rings, and buffers that are made here, into host memory even if device memory can be
    // mapped. Set it for clients that come and go: opening Vulkan interrupts the kernel for a
    // moment.
    bool host_memory = false;
    // Most bytes of a store's memory that stay mapped for its next buffers.
    std::size_t kept_bytes = std::size_t{1} << 28;
    unsigned copy_threads = 4;  // see StoreOptions::copy_threads
    // The user that must own the listener; by default this process's user, or root. An owner of
    // another user is refused (RefusalReason::wrong_owner) before anything is sent to it: in a
    // folder like /tmp any user may listen first.
    std::optional<std::uint32_t> owner_user = std::nullopt;
};

// The owner that a connection leads to, for reports.
struct ConnectedOwner {
    std::string name;          // ServeOptions::name
    std::int32_t process = 0;  // its process id; 0 in another namespace
    // A new number for each owner that begins to serve: a path may lead to another owner later.
    std::uint64_t instance = 0;
    std::uint32_t user = 0;  // according to the system
};

// A block of another process's kernel, or the one end of another object, and its client.
struct ServedBlock {
    BlockActivity activity = BlockActivity::idle;
    std::string client;  // its name; empty: the block has no client
    std::int32_t process = 0;
    std::uint32_t user = 0;
    std::chrono::milliseconds held{0};  // since it got the block
    ChannelCounters counters;           // its requests, according to the client
    ChannelCounters gone;               // requests of all earlier clients
    BlockBeats beats;
    // The sum of both. Only its `depth` shrinks when clients come and go.
    [[nodiscard]] ChannelCounters all() const;
};
struct ServedObject {
    std::string name;  // the name that clients ask for
    ObjectKind kind = ObjectKind::kernel;
    KernelState state = KernelState::running;
    bool emulated = false;            // it runs on threads of a CPU
    std::vector<ServedBlock> blocks;  // one unless it is a kernel
};
// The owner's store of buffers; Connection::store() lists them.
struct StoreStatus {
    std::uint64_t buffers = 0;
    std::uint64_t sealed = 0;      // the number of sealed buffers
    std::uint64_t bytes = 0;       // the size of their memory
    std::uint64_t most_bytes = 0;  // the limit of these bytes (StoreOptions::bytes)
};
struct OwnerStatus {
    std::vector<ServedObject> objects;  // in the order in which they were added
    std::optional<StoreStatus> store{};
};

// Reads the messages of another process's log (Connection::log) in order, for one thread at a time.
// It delays no other process: messages that it does not read in time are overwritten and counted.
// Texts are formatted, without control characters.
class LogReader {
   public:
    LogReader(LogReader&&) noexcept = default;
    LogReader& operator=(LogReader&&) noexcept = default;

    // Returns the next message. Sleeps until one arrives, at most for `timeout`, and then returns
    // nothing. Once all messages are read, throws OwnerGoneError if the owner has ended, and
    // StoppedError if it has destroyed the log.
    [[nodiscard]] std::optional<LogRecord> next(std::chrono::nanoseconds timeout);
    // The number of messages overwritten before they were read, since this reader's first message.
    [[nodiscard]] std::uint64_t missed() const;

   private:
    friend class Connection;
    explicit LogReader(std::shared_ptr<detail::LogReaderState> state) : state_(std::move(state)) {}

    std::shared_ptr<detail::LogReaderState> state_;
};

// A connection to the process that owns a kernel and serves it at a Unix socket. This process needs
// neither CUDA nor a GPU. Rings in GPU memory need Vulkan; otherwise the rings lie in host memory,
// which is slower. Any thread may call it. channel() returns a `Client`.
class CARILLON_LAYOUT Connection {
   public:
    // Connects to the `Server` at `path`. Throws SystemError if nobody listens there
    // (ConnectOptions::wait_for_owner) or this user has no right to connect, OwnerGoneError if the
    // listener ends meanwhile, ProtocolError if the listener is no Server, RefusedError if the
    // owner refuses the connection or is another user's (ConnectOptions::owner_user), TimeoutError,
    // UsageError for the options.
    explicit Connection(PathArgument const& path, ConnectOptions const& options = {});
    Connection(Connection&&) noexcept;
    Connection& operator=(Connection&&) noexcept;
    // Its channels stay connected until they are destroyed.
    ~Connection();

    // A message's description: a BytesType for Bytes, nothing for a type.
    template <class T>
    using Described = typename detail::MessageOf<T>::Described;

    // Makes a channel to the kernel that the owner serves as `object`: for one type of message each
    // way, or for the messages of `Handler`, which may have a table of commands. Calls of the
    // channel throw OwnerGoneError once the owner's process has ended. Throws RefusedError if there
    // is no such kernel, every block has a client, or the types differ from the kernel's;
    // TimeoutError; OwnerGoneError. For Bytes, this call and each call below takes a BytesType, and
    // also throws UsageError for a bad one.
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

    // Returns the host's end of an object that the owner shares as `object` (Server::add). The end
    // belongs to this client alone and is empty: no data of an earlier client is left. Only a
    // mailbox to the host has other readers, and the kernel's last value. The end's calls throw
    // OwnerGoneError when the owner has ended, StoppedError when the owner has destroyed the
    // object. Each of these three throws RefusedError if there is no such object, it was destroyed,
    // has a client, or has another type; TimeoutError; OwnerGoneError.
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
    // A ring to the kernel, or from it.
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
                beside, this->end_of<detail::ChunkRingLayout>(object, ObjectKind::chunk_ring,
                                                              described(beside, type, 1)));
        });
    }

    // Returns a reader of a log that the owner shares as `object`. It begins with the oldest
    // message that is still there, and takes no message from the owner or from other readers.
    // Throws what mailbox() throws.
    [[nodiscard]] LogReader log(NameArgument object) const;

    // Returns the owner's store of buffers (include carillon/store.hpp). It has its own connection,
    // which ends if the owner destroys the store; this connection stays. Throws what Store's
    // constructor throws.
    [[nodiscard]] Store store() const;

    [[nodiscard]] ConnectedOwner const& owner() const;
    // Lists the owner's objects with their states, and the client and counters of each block. It
    // disturbs neither kernels nor clients. Throws OwnerGoneError, TimeoutError.
    [[nodiscard]] OwnerStatus status() const;
    // The reason why the last channel's rings lie in host memory although the kernel's device has
    // its own memory; empty if they do not.
    [[nodiscard]] std::string why_host_memory() const;

   private:
    [[nodiscard]] detail::ChannelParts attach(std::string_view object,
                                              detail::MessageTypes const& types) const;
    template <class Layout>
    [[nodiscard]] detail::ObjectEnd<typename Layout::View> end_of(
        std::string_view object, ObjectKind kind, detail::MessageType const& type) const;

    std::shared_ptr<detail::ClientSession> session_;
};

// Connects to an owner, see `Connection`.
[[nodiscard]] inline Connection connect(PathArgument const& path,
                                        ConnectOptions const& options = {}) {
    return Connection(path, options);
}

}  // namespace carillon
