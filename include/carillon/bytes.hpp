// SPDX-License-Identifier: Apache-2.0
// Clients, rings, mailboxes, chunk rings and kernels whose messages are bytes, of a number that is
// known when the program runs: for other languages, and for programs that forward what they do not
// look into. On the wire they are what a message type of that size is (docs/ipc.md).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "carillon/arguments.hpp"
#include "carillon/chunk_ring.hpp"
#include "carillon/connection.hpp"
#include "carillon/counters.hpp"
#include "carillon/device.hpp"
#include "carillon/kernel_options.hpp"
#include "carillon/mailbox.hpp"
#include "carillon/ring.hpp"
#include "carillon/server.hpp"
#include "carillon/ticket.hpp"

namespace carillon {
namespace detail {
class BytesChannel;
class BytesRingState;
class BytesMailboxState;
class BytesKernelState;
}  // namespace detail

class CompiledHandler;  // handler_text.hpp

// A message type of which only this is known. Of another process's the size is compared, and the
// name where both sides give one.
struct BytesType {
    std::uint32_t bytes = 0;  // 1 to 1024; of a mailbox 1 to 4096, beside a chunk 0 to 40
    // As the program says it that has the type, with its namespace: "desk::Tick". The calls that
    // take it throw UsageError for control characters and for bytes that are no UTF-8. Empty: not
    // given.
    std::string name{};
};

// A Client by bytes: the same calls, with the same errors. One thread at a time. Throws UsageError
// for a request, or room for a reply, of another size than the channel's or at a null pointer,
// besides.
class BytesClient {
   public:
    // A channel to the kernel that another process serves as `object`. Throws UsageError for the
    // sizes, and what Connection::channel throws.
    BytesClient(Connection const& connection, BytesType const& request, BytesType const& reply,
                NameArgument object = "kernel");
    BytesClient(BytesClient&&) noexcept;
    BytesClient& operator=(BytesClient&&) noexcept;
    BytesClient(BytesClient const&) = delete;
    BytesClient& operator=(BytesClient const&) = delete;
    ~BytesClient();

    // As Client's. `reply` is written when the call returns.
    void call(std::span<std::byte const> request, std::span<std::byte> reply,
              std::chrono::nanoseconds timeout, OutOfLine data = OutOfLine::none);
    void warm();
    [[nodiscard]] std::optional<Ticket> try_submit(std::span<std::byte const> request,
                                                   OutOfLine data = OutOfLine::none);
    [[nodiscard]] Ticket submit(std::span<std::byte const> request,
                                std::chrono::nanoseconds timeout, OutOfLine data = OutOfLine::none);
    // Of several requests, one behind the other: bytes of a multiple of request_bytes().
    [[nodiscard]] Tickets try_submit_n(std::span<std::byte const> requests,
                                       OutOfLine data = OutOfLine::none);
    void submit_n(std::span<std::byte const> requests, Tickets& sent,
                  std::chrono::nanoseconds timeout, OutOfLine data = OutOfLine::none);
    // False while the reply has not come. Throws as Client::try_take.
    [[nodiscard]] bool try_take(Ticket const& ticket, std::span<std::byte> reply);
    void wait(Ticket const& ticket, std::span<std::byte> reply, std::chrono::nanoseconds timeout);
    // Into room for several replies: bytes of a multiple of reply_bytes(). Returns how many.
    [[nodiscard]] std::size_t try_take_n(Tickets& tickets, std::span<std::byte> replies);
    void abandon(Ticket const& ticket);

    [[nodiscard]] bool all_answered() const;
    [[nodiscard]] ChannelCounters counters() const;
    [[nodiscard]] std::uint32_t capacity() const;     // requests
    [[nodiscard]] std::size_t request_bytes() const;  // of each
    [[nodiscard]] std::size_t reply_bytes() const;    // the same

   private:
    friend class detail::BytesKernelState;
    explicit BytesClient(std::unique_ptr<detail::BytesChannel> channel);
    [[nodiscard]] detail::BytesChannel& channel(std::string_view call) const;

    std::unique_ptr<detail::BytesChannel> channel_;
};

// The device's end of a BytesRing on the emulated device, for one thread that stands in for a
// kernel's. Keeps the ring's memory.
class BytesDeviceEnd {
   public:
    BytesDeviceEnd(BytesDeviceEnd&&) noexcept;
    BytesDeviceEnd& operator=(BytesDeviceEnd&&) noexcept;
    BytesDeviceEnd(BytesDeviceEnd const&) = delete;
    BytesDeviceEnd& operator=(BytesDeviceEnd const&) = delete;
    ~BytesDeviceEnd();

    // Of a ring to the host: false at once where it is full. Throw UsageError for a message of
    // another size, and for the other direction.
    [[nodiscard]] bool try_push(std::span<std::byte const> message);
    // Of a ring to the device: false at once where nothing has come.
    [[nodiscard]] bool try_pop(std::span<std::byte> message);

   private:
    friend class BytesRing;
    struct Ends;
    explicit BytesDeviceEnd(std::unique_ptr<Ends> ends);

    std::unique_ptr<Ends> ends_;
};

// A Ring by bytes: the same calls, with the same errors. One thread at a time. Its calls throw
// UsageError for a message of another size or at a null pointer, and those of the other direction,
// besides.
class BytesRing {
   public:
    // Throws UsageError for size and options, and what Device::allocate throws.
    BytesRing(Device const& device, std::size_t bytes, Direction direction,
              RingOptions const& options = {});
    // Of a ring that another process shares as `object`. Throws UsageError for the size, and what
    // Connection::ring throws.
    BytesRing(Connection const& connection, NameArgument object, BytesType const& type,
              Direction direction);
    BytesRing(BytesRing&&) noexcept;
    BytesRing& operator=(BytesRing&&) noexcept;
    BytesRing(BytesRing const&) = delete;
    BytesRing& operator=(BytesRing const&) = delete;
    ~BytesRing();

    // As Ring's, of one message, and of several: bytes of a multiple of message_bytes().
    bool try_push(std::span<std::byte const> message, OutOfLine data = OutOfLine::none);
    std::size_t try_push_n(std::span<std::byte const> messages, OutOfLine data = OutOfLine::none);
    void push(std::span<std::byte const> message, std::chrono::nanoseconds timeout,
              OutOfLine data = OutOfLine::none);
    // False at once where no message has arrived.
    [[nodiscard]] bool try_pop(std::span<std::byte> message);
    [[nodiscard]] std::size_t try_pop_n(std::span<std::byte> messages);
    void pop(std::span<std::byte> message, std::chrono::nanoseconds timeout);

    // The device's end, once. Throws UsageError the second time and for a ring of another process,
    // UnsupportedError on a GPU: a kernel there has a type.
    [[nodiscard]] BytesDeviceEnd emulated_end();

    [[nodiscard]] std::uint32_t capacity() const;     // slots
    [[nodiscard]] std::size_t message_bytes() const;  // of each message
    [[nodiscard]] Direction direction() const;

   private:
    [[nodiscard]] detail::BytesRingState& state(std::string_view call) const;

    std::shared_ptr<detail::BytesRingState> state_;
};

// The device's end of a BytesMailbox on the emulated device, for one thread. Keeps the mailbox's
// memory.
class BytesMailboxEnd {
   public:
    BytesMailboxEnd(BytesMailboxEnd&&) noexcept;
    BytesMailboxEnd& operator=(BytesMailboxEnd&&) noexcept;
    BytesMailboxEnd(BytesMailboxEnd const&) = delete;
    BytesMailboxEnd& operator=(BytesMailboxEnd const&) = delete;
    ~BytesMailboxEnd();

    // Of a mailbox to the host. Throw UsageError for a value of another size, and for the other
    // direction.
    void set(std::span<std::byte const> value);
    // Of a mailbox to the device: false where nothing is newer than the last one, and `value` is
    // what it was.
    [[nodiscard]] bool refresh(std::span<std::byte> value);

   private:
    friend class BytesMailbox;
    struct Ends;
    explicit BytesMailboxEnd(std::unique_ptr<Ends> ends);

    std::unique_ptr<Ends> ends_;
};

// A Mailbox by bytes, 1 to 4096 of them: the same calls, with the same errors. One thread at a
// time. Its calls throw UsageError for a value of another size or at a null pointer, and those of
// the other direction, besides.
class BytesMailbox {
   public:
    // `initial`, the first value that a reader finds, says the size. Throws UsageError for it and
    // the options, and what Device::allocate throws.
    BytesMailbox(Device const& device, std::span<std::byte const> initial, Direction direction,
                 MailboxOptions const& options = {});
    // Of a mailbox that another process shares as `object`. Throws UsageError for the size, and
    // what Connection::mailbox throws.
    BytesMailbox(Connection const& connection, NameArgument object, BytesType const& type,
                 Direction direction);
    BytesMailbox(BytesMailbox&&) noexcept;
    BytesMailbox& operator=(BytesMailbox&&) noexcept;
    BytesMailbox(BytesMailbox const&) = delete;
    BytesMailbox& operator=(BytesMailbox const&) = delete;
    ~BytesMailbox();

    // As Mailbox's.
    void set(std::span<std::byte const> value, OutOfLine data = OutOfLine::none);
    [[nodiscard]] bool refresh(std::span<std::byte> value);

    // The device's end: a reader each time, the writer once. Throws UsageError for the second
    // writer and for a mailbox of another process, UnsupportedError on a GPU.
    [[nodiscard]] BytesMailboxEnd emulated_end();

    [[nodiscard]] std::size_t value_bytes() const;
    [[nodiscard]] Direction direction() const;

   private:
    [[nodiscard]] detail::BytesMailboxState& state(std::string_view call) const;

    std::shared_ptr<detail::BytesMailboxState> state_;
};

// What goes beside a chunk: as many of its bytes as were said, and then 0.
using ChunkMeta = std::array<std::byte, 40>;

// A chunk that was claimed, as Chunk.
class BytesChunk : public ClaimedChunk {
   public:
    // As Chunk::commit. Throws UsageError for a `meta` of another size than the ring's, too, and it
    // can be committed still.
    void commit(std::size_t used, std::span<std::byte const> meta = {});

   private:
    friend class BytesChunkRing;
    BytesChunk(std::shared_ptr<detail::ChunkRingState> ring, Sequence sequence,
               std::size_t meta_bytes)
        : ClaimedChunk(std::move(ring), sequence), meta_bytes_(meta_bytes) {}

    std::size_t meta_bytes_;
};

// The device's end of a BytesChunkRing on the emulated device, for one thread. Keeps its memory.
class BytesChunkEnd {
   public:
    BytesChunkEnd(BytesChunkEnd&&) noexcept = default;
    BytesChunkEnd& operator=(BytesChunkEnd&&) noexcept = default;
    BytesChunkEnd(BytesChunkEnd const&) = delete;
    BytesChunkEnd& operator=(BytesChunkEnd const&) = delete;
    ~BytesChunkEnd() = default;

    // As ChunkConsumer's: the next chunk, or nothing at once. It may be read until release().
    [[nodiscard]] std::optional<ChunkView<ChunkMeta>> try_take();
    bool release(Sequence sequence);

   private:
    friend class BytesChunkRing;
    explicit BytesChunkEnd(std::shared_ptr<detail::ChunkRingState> ring);

    std::shared_ptr<detail::ChunkRingState> ring_;
    DeviceChunkReader<ChunkMeta> reader_;
};

// A ChunkRing whose metadata are bytes, 0 to 40: the same calls, with the same errors. One thread
// at a time claims. A handle: copies share the ring.
class BytesChunkRing {
   public:
    // Throws UsageError for the size and the options, and what Device::allocate throws.
    BytesChunkRing(Device const& device, std::size_t meta_bytes,
                   ChunkRingOptions const& options = {});
    // Of a ring that another process shares as `object`; `meta` of 0 bytes for NoMeta. Throws
    // UsageError for the size, and what Connection::chunk_ring throws.
    BytesChunkRing(Connection const& connection, NameArgument object, BytesType const& meta = {});
    BytesChunkRing(BytesChunkRing const&) = default;  // and moves: what is left shares it still
    BytesChunkRing& operator=(BytesChunkRing const&) = default;
    ~BytesChunkRing() = default;

    // As ChunkRing's.
    [[nodiscard]] std::optional<BytesChunk> try_claim();
    [[nodiscard]] BytesChunk claim(std::chrono::nanoseconds timeout);

    // The device's end, once. Throws UsageError the second time and for a ring of another process,
    // UnsupportedError on a GPU.
    [[nodiscard]] BytesChunkEnd emulated_end();

    [[nodiscard]] std::uint32_t chunks() const { return ring_->chunks(); }
    [[nodiscard]] std::size_t chunk_bytes() const { return ring_->chunk_bytes(); }
    [[nodiscard]] std::size_t meta_bytes() const { return meta_bytes_; }

   private:
    std::shared_ptr<detail::ChunkRingState> ring_;
    std::size_t meta_bytes_;
    bool gpu_ = false;  // of this process
};

// What a BytesKernel does with a request: it writes the reply, whose bytes are zero before. `user`
// is the caller's. Every block calls it in a thread of its own, and several blocks at once.
using BytesHandler = void (*)(void* user, void const* request, void* reply);

// How requests reach the blocks of a BytesKernel: as Channels or as SharedChannels.
enum class BytesClients : std::uint8_t { of_this_process, of_others };

// A PersistentKernel for messages by bytes. On the emulated device its handler is a plain function:
// what a test has in place of a GPU, and what other languages write. On a GPU it is text that was
// compiled for it.
class BytesKernel {
   public:
    // Starts the kernel and returns when every block runs. Throws UnsupportedError on a GPU,
    // UsageError for the sizes and without a handler, and what PersistentKernel throws.
    BytesKernel(Device const& device, BytesType const& request, BytesType const& reply,
                BytesHandler handler, void* user, KernelOptions const& options = {},
                BytesClients clients = BytesClients::of_this_process);
    // The same on a GPU of the handler's compute capability. Throws UsageError for another, and
    // where compile_handler() has not loaded it and a kernel lives there; UnsupportedError on the
    // emulated device; CudaError, and what PersistentKernel throws.
    BytesKernel(Device const& device, CompiledHandler const& handler,
                KernelOptions const& options = {},
                BytesClients clients = BytesClients::of_this_process);
    BytesKernel(BytesKernel&&) noexcept;
    BytesKernel& operator=(BytesKernel&&) = delete;
    BytesKernel(BytesKernel const&) = delete;
    BytesKernel& operator=(BytesKernel const&) = delete;
    // Stops it, as PersistentKernel's does. A handler that has not returned by options.stop_timeout
    // is left behind, with `user`.
    ~BytesKernel();

    // As PersistentKernel's of the same names. `client` is for one thread at a time, of
    // BytesClients::of_this_process alone; `serve` of the others.
    [[nodiscard]] BytesClient& client(unsigned block = 0);
    [[nodiscard]] Server serve(PathArgument const& path, ServeOptions const& options = {}) const;
    void serve(Server& server, NameArgument name) const;
    [[nodiscard]] unsigned blocks() const;
    [[nodiscard]] KernelState state() const;
    [[nodiscard]] BlockActivity activity(unsigned block = 0) const;
    [[nodiscard]] bool running() const;
    void drain(std::chrono::nanoseconds timeout);
    void stop(std::chrono::nanoseconds timeout = std::chrono::seconds(5));

   private:
    [[nodiscard]] detail::BytesKernelState& state(std::string_view call) const;

    std::unique_ptr<detail::BytesKernelState> state_;
};

}  // namespace carillon
