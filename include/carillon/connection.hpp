// SPDX-License-Identifier: Apache-2.0
// Commands a kernel that another process owns, without CUDA (docs/dev/protocol.md).
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
    // For a client that is started before its owner, or outlives it. It tries so long to connect
    // while nobody listens at the path, or the listener has ended, does not answer, or has no room.
    // Each call that attaches tries for so long, too, from its own beginning on, while the owner
    // does not serve the object yet, or has no store yet, has no place of it, or is about to end
    // it. 0: each is tried once.
    std::chrono::nanoseconds wait_for_owner = std::chrono::nanoseconds(0);
    // How channels wait; none: HostWait::for_kernel chooses.
    std::optional<HostWait::Style> wait = std::nullopt;
    // A call looks so long for the owner's answer before it sleeps, and next() for a sealed buffer;
    // see ServeOptions::spin.
    std::chrono::nanoseconds spin = std::chrono::microseconds(50);
    // The GPU on which kernels of this process find buffers (Buffer::device_ptr). No other use
    // needs a GPU or CUDA.
    std::shared_ptr<Device const> device = nullptr;
    // Rings, and buffers that are made here, lie in host memory even if device memory can be
    // mapped: a client that comes and goes does not open Vulkan then, which interrupts the kernel
    // for a moment.
    bool host_memory = false;
    // How many bytes of a store's memory stay mapped for the next buffers there, at most.
    std::size_t kept_bytes = std::size_t{1} << 28;
    unsigned copy_threads = 4;  // see StoreOptions::copy_threads
    // The user of the wanted owner. An owner of another user is refused
    // (RefusalReason::wrong_owner) before anything is sent to it: in a folder like /tmp anybody may
    // listen first. None: this process's own user, or root.
    std::optional<std::uint32_t> owner_user = std::nullopt;
};

// The owner that a connection leads to, for reports.
struct ConnectedOwner {
    std::string name;          // ServeOptions::name
    std::int32_t process = 0;  // the owner's number; 0 in another namespace
    // The number changes whenever an owner begins to serve: one path may lead to another owner.
    std::uint64_t instance = 0;
    std::uint32_t user = 0;  // according to the system
};

// A block of another process's kernel, or the one end of an object, and the client that has it.
struct ServedBlock {
    BlockActivity activity = BlockActivity::idle;
    std::string client;  // the name that it gave itself; empty: nobody has the block
    std::int32_t process = 0;
    std::uint32_t user = 0;
    std::chrono::milliseconds held{0};  // for how long it has had the block
    ChannelCounters counters;           // of its requests, according to the client
    ChannelCounters gone;               // of all earlier clients of the block
    BlockBeats beats;
    // The sum of both: only its `depth` may shrink, whichever clients come and go.
    [[nodiscard]] ChannelCounters all() const;
};
struct ServedObject {
    std::string name;  // clients ask for it
    ObjectKind kind = ObjectKind::kernel;
    KernelState state = KernelState::running;
    bool emulated = false;            // its device is threads of a CPU
    std::vector<ServedBlock> blocks;  // one unless it is a kernel
};
// The owner's store of buffers; Connection::store() lists them.
struct StoreStatus {
    std::uint64_t buffers = 0;
    std::uint64_t sealed = 0;      // how many of them are sealed
    std::uint64_t bytes = 0;       // of their memory
    std::uint64_t most_bytes = 0;  // the limit of these bytes (StoreOptions::bytes)
};
struct OwnerStatus {
    std::vector<ServedObject> objects;  // in the order in which they were added
    std::optional<StoreStatus> store{};
};

// Reads the messages of a log that another process shares (Connection::log), in order. It holds
// nobody up: messages that it did not read in time are overwritten, and counted. Texts are
// formatted, and have no control characters. One thread at a time.
class LogReader {
   public:
    LogReader(LogReader&&) noexcept = default;
    LogReader& operator=(LogReader&&) noexcept = default;

    // The next message. Sleeps until one comes, for at most `timeout`; returns nothing if none has
    // come. Once all messages are read, throws OwnerGoneError if the owner has ended, and
    // StoppedError if it has destroyed the log.
    [[nodiscard]] std::optional<LogRecord> next(std::chrono::nanoseconds timeout);
    // The number of messages that were overwritten before they were read, counted from the first
    // message that this reader found.
    [[nodiscard]] std::uint64_t missed() const;

   private:
    friend class Connection;
    explicit LogReader(std::shared_ptr<detail::LogReaderState> state) : state_(std::move(state)) {}

    std::shared_ptr<detail::LogReaderState> state_;
};

// A connection to the owner of a kernel, who serves at a Unix socket. This process needs neither
// CUDA nor a GPU. Rings in GPU memory need Vulkan; without it the rings lie in host memory, which
// is slower. Any thread may call it.
class CARILLON_LAYOUT Connection {
   public:
    // Throws SystemError if nobody listens at `path` (ConnectOptions::wait_for_owner) or it is not
    // for this user, OwnerGoneError if the listener ends meanwhile, ProtocolError if that is no
    // Server, RefusedError if the owner refuses the connection or is another user's
    // (ConnectOptions::owner_user), TimeoutError, UsageError for the options.
    explicit Connection(PathArgument const& path, ConnectOptions const& options = {});
    Connection(Connection&&) noexcept;
    Connection& operator=(Connection&&) noexcept;
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
    // client's alone, and empty: nothing of an earlier client is in it. Only a mailbox to the host
    // has other readers, and the kernel's last value. The end's calls throw OwnerGoneError when the
    // owner has ended, StoppedError when the owner has destroyed the object. Each of these throws
    // RefusedError when there is no such object, it was destroyed, it has a client, or its type is
    // another; TimeoutError; OwnerGoneError.
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
    // A ring towards the kernel, or from it.
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

    // A log that the owner shares by that name, from the oldest message on that is there still. It
    // takes nothing from the owner or from other clients. Throws as those above.
    [[nodiscard]] LogReader log(NameArgument object) const;

    // The owner's store of buffers, by a connection of its own: if the owner destroys the store,
    // that connection ends, and this one does not. Include carillon/store.hpp. Throws as Store's
    // constructor.
    [[nodiscard]] Store store() const;

    [[nodiscard]] ConnectedOwner const& owner() const;
    // Lists the owner's objects: their states, the client of each block, and the counters of each
    // block. No kernel is asked, and no client disturbed. Throws OwnerGoneError, TimeoutError.
    [[nodiscard]] OwnerStatus status() const;
    // Why the last channel's rings are in host memory although the kernel's device has memory of
    // its own; empty if they are not.
    [[nodiscard]] std::string why_host_memory() const;

   private:
    [[nodiscard]] detail::ChannelParts attach(std::string_view object,
                                              detail::MessageTypes const& types) const;
    template <class Layout>
    [[nodiscard]] detail::ObjectEnd<typename Layout::View> end_of(
        std::string_view object, ObjectKind kind, detail::MessageType const& type) const;

    std::shared_ptr<detail::ClientSession> session_;
};

// Connects to an owner, see Connection's constructor.
[[nodiscard]] inline Connection connect(PathArgument const& path,
                                        ConnectOptions const& options = {}) {
    return Connection(path, options);
}

}  // namespace carillon
