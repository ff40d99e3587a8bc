// SPDX-License-Identifier: Apache-2.0
// Clients, rings and kernels whose messages are bytes, of a number that is known when the
// program runs: for other languages, and for programs that forward what they do not look into. On
// the wire they are what a message type of that size is (docs/ipc.md).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "carillon/connection.hpp"
#include "carillon/counters.hpp"
#include "carillon/device.hpp"
#include "carillon/kernel_options.hpp"
#include "carillon/ring.hpp"
#include "carillon/server.hpp"
#include "carillon/ticket.hpp"

namespace carillon {
namespace detail {
class BytesChannel;
class BytesRingState;
class BytesKernelState;
}  // namespace detail

class CompiledHandler;  // handler_text.hpp

// A message type of which only this is known. Of another process's the size is compared, and the
// name where both sides give one.
struct BytesType {
    std::uint32_t bytes = 0;  // 1 to 1024
    // As the program says it that has the type, with its namespace: "desk::Tick". Of the first 63
    // characters. Empty: not given.
    std::string name{};
};

// A Client by bytes: the same calls, with the same errors. One thread at a time. Throws UsageError
// for a request, or room for a reply, of another size than the channel's, besides.
class BytesClient {
   public:
    // A channel to the kernel that another process serves as `object`. Throws UsageError for the
    // sizes, and what Connection::channel throws.
    BytesClient(Connection const& connection, BytesType const& request, BytesType const& reply,
                std::string_view object = "kernel");
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
    // False while the reply has not come.
    [[nodiscard]] bool try_take(Ticket const& ticket, std::span<std::byte> reply);
    void wait(Ticket const& ticket, std::span<std::byte> reply, std::chrono::nanoseconds timeout);
    // Into room for several replies: bytes of a multiple of reply_bytes(). Returns how many.
    [[nodiscard]] std::size_t try_take_n(Tickets& tickets, std::span<std::byte> replies);

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
// UsageError for a message of another size, and those of the other direction, besides.
class BytesRing {
   public:
    // Throws UsageError for size and options, and what Device::allocate throws.
    BytesRing(Device const& device, std::size_t bytes, Direction direction,
              RingOptions const& options = {});
    // Of a ring that another process shares as `object`. Throws UsageError for the size, and what
    // Connection::ring throws.
    BytesRing(Connection const& connection, std::string_view object, BytesType const& type,
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
    [[nodiscard]] Server serve(std::filesystem::path const& path,
                               ServeOptions const& options = {}) const;
    void serve(Server& server, std::string_view name) const;
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
