// SPDX-License-Identifier: Apache-2.0
// A kernel whose messages are bytes (bytes.hpp). Its handler is a plain function on the emulated
// device, and compiled text on a GPU (handler_text.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "carillon/arguments.hpp"
#include "carillon/bytes.hpp"
#include "carillon/client.hpp"
#include "carillon/counters.hpp"
#include "carillon/device.hpp"
#include "carillon/kernel_options.hpp"
#include "carillon/server.hpp"

namespace carillon {
namespace detail {
class BytesKernelState;
}  // namespace detail

class CompiledHandler;  // handler_text.hpp

// A handler of a BytesKernel. It writes the reply, whose bytes are zero before. `user` is the
// caller's pointer. Each block calls the handler in its own thread, several blocks at once.
using BytesHandler = void (*)(void* user, void const* request, void* reply);

// How requests reach the blocks of a BytesKernel: as Channels or as SharedChannels.
enum class BytesClients : std::uint8_t { of_this_process, of_others };

// A PersistentKernel for messages by bytes. Its handler is a plain function on the emulated device
// (for tests, and for handlers written in other languages), and compiled text on a GPU.
class BytesKernel {
   public:
    // Starts the kernel and returns when every block runs. Throws UnsupportedError on a GPU,
    // UsageError for wrong sizes and without a handler, and what PersistentKernel throws.
    BytesKernel(Device const& device, BytesType const& request, BytesType const& reply,
                BytesHandler handler, void* user, KernelOptions const& options = {},
                BytesClients clients = BytesClients::of_this_process);
    // Starts it on a GPU of the handler's compute capability. Throws UsageError on another GPU, and
    // if compile_handler() has not loaded the handler and a kernel lives there; UnsupportedError on
    // the emulated device; CudaError, and what PersistentKernel throws.
    BytesKernel(Device const& device, CompiledHandler const& handler,
                KernelOptions const& options = {},
                BytesClients clients = BytesClients::of_this_process);
    BytesKernel(BytesKernel&&) noexcept;
    BytesKernel& operator=(BytesKernel&&) = delete;
    BytesKernel(BytesKernel const&) = delete;
    BytesKernel& operator=(BytesKernel const&) = delete;
    // Stops the kernel, see PersistentKernel. A handler that has not returned by
    // options.stop_timeout is left behind, with `user`.
    ~BytesKernel();

    // See PersistentKernel's members of these names. `client` is for one thread at a time and needs
    // BytesClients::of_this_process; `serve` needs of_others.
    [[nodiscard]] Channel<Bytes, Bytes>& client(unsigned block = 0);
    [[nodiscard]] Server serve(PathArgument const& path, ServeOptions const& options = {},
                               NameArgument name = "kernel") const;
    void serve(Server& server, NameArgument name) const;
    [[nodiscard]] unsigned blocks() const;
    [[nodiscard]] KernelState state() const;
    [[nodiscard]] BlockActivity activity(unsigned block = 0) const;
    [[nodiscard]] bool running() const;
    void drain(std::chrono::nanoseconds timeout);
    void stop(std::chrono::nanoseconds timeout = std::chrono::seconds(5));

   private:
    std::unique_ptr<detail::BytesKernelState> state_;
};

}  // namespace carillon
