// SPDX-License-Identifier: Apache-2.0
// `BytesKernel`: a kernel whose messages are bytes, for bindings of other languages. Its handler is
// a plain function on the emulated device, and compiled text on a GPU (handler_text.hpp).
#pragma once

#include <cstdint>
#include <memory>

#include "carillon/bytes.hpp"
#include "carillon/client.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/routes.hpp"
#include "carillon/detail/kernel/block_state.hpp"
#include "carillon/detail/protocol/message_at.hpp"
#include "carillon/detail/serving/lender.hpp"
#include "carillon/kernel.hpp"
#include "carillon/kernel_options.hpp"
#include "carillon/launch.hpp"
#include "carillon/server.hpp"

namespace carillon {

class CompiledHandler;  // handler_text.hpp

// A handler of a BytesKernel. It writes the reply, whose bytes are initially zero. `user` is the
// caller's pointer. Each block calls it in its own thread, so several calls may run at once.
using BytesHandler = void (*)(void* user, void const* request, void* reply);

// How requests reach the blocks of a BytesKernel: as Channels or as SharedChannels.
enum class BytesClients : std::uint8_t { of_this_process, of_others };

namespace detail {

class HandlerCode;

// The options of a BytesKernel, with its handler and its messages.
struct BytesRequests : KernelOptions {
    // These make the first checks of BytesKernel's constructors with the same arguments.
    BytesRequests(Device const& device, BytesType const& request, BytesType const& reply,
                  BytesHandler handler, void* user, KernelOptions const& options, BytesClients of);
    BytesRequests(Device const& device, CompiledHandler const& handler,
                  KernelOptions const& options, BytesClients of);

    MessageOf<Bytes> request;
    MessageOf<Bytes> reply;
    MessageTypes types;
    BytesClients clients;
    BytesHandler function = nullptr;
    void* user = nullptr;
    HandlerCode* text = nullptr;  // instead of a function

   private:
    BytesRequests(BytesType const& request, BytesType const& reply, KernelOptions const& options,
                  BytesClients of);
};

// Stands for the handler, which is among the options.
struct BytesServed {
    MessageAt operator()(MessageAt request);
};

// Channels for clients of this process, or leased to other processes.
class BytesRoute {
   public:
    using Client = Channel<Bytes, Bytes>;

    BytesRoute(Device const& device, BytesRequests const& options);

    [[nodiscard]] std::shared_ptr<ChannelMemory> const& blocks() const { return memory_; }
    [[nodiscard]] static unsigned channels_per_block() { return 1; }
    [[nodiscard]] static bool lanes_apart() { return false; }
    [[nodiscard]] RunningKernel start(Device const& device, BytesRequests const& options,
                                      Handlers<BytesServed> const& handlers) const;
    void connect(Device const& device, BytesRequests const& options,
                 std::shared_ptr<KernelSupervisor> const& kernel);

    [[nodiscard]] ClientList<Client> const& channels() const;
    [[nodiscard]] std::shared_ptr<Lender> const& leases() const;
    [[nodiscard]] bool all_answered() const;
    [[nodiscard]] bool outstanding(unsigned block) const;

   private:
    HostWait wait_;
    std::shared_ptr<Lender> leases_;  // for other processes
    std::shared_ptr<ChannelMemory> memory_;
    ClientList<Client> channels_;  // each block's, for this process
};

inline namespace CARILLON_TOOLCHAIN {
template <>
class Route<BytesServed, BytesRequests> : public BytesRoute {
    using BytesRoute::BytesRoute;
};
}  // namespace CARILLON_TOOLCHAIN

}  // namespace detail

inline namespace CARILLON_TOOLCHAIN {

// A PersistentKernel for messages of bytes. On the emulated device its handler is a plain function,
// for tests and for handlers in other languages; on a GPU it is compiled text. client() needs
// BytesClients::of_this_process, serve() needs of_others. The destructor stops the kernel, see
// `PersistentKernel`. A handler that runs past options.stop_timeout is abandoned, with `user`.
class BytesKernel : private PersistentKernel<detail::BytesServed, detail::BytesRequests> {
   public:
    using PersistentKernel::activity;
    using PersistentKernel::blocks;
    using PersistentKernel::drain;
    using PersistentKernel::running;
    using PersistentKernel::serve;
    using PersistentKernel::state;
    using PersistentKernel::stop;

    // Starts the kernel on the emulated device and returns when every block runs. Throws
    // UnsupportedError on a GPU, UsageError for wrong sizes or no handler, and what
    // PersistentKernel throws.
    BytesKernel(Device const& device, BytesType const& request, BytesType const& reply,
                BytesHandler handler, void* user, KernelOptions const& options = {},
                BytesClients clients = BytesClients::of_this_process) try
        : PersistentKernel(device, {device, request, reply, handler, user, options, clients}) {
    } catch (...) {
        detail::throw_named("BytesKernel");
    }
    // Starts the kernel on a GPU of the handler's compute capability. Throws UsageError on another
    // GPU, and if compile_handler() has not loaded the handler while a kernel lives there;
    // UnsupportedError on the emulated device; CudaError, and what PersistentKernel throws.
    BytesKernel(Device const& device, CompiledHandler const& handler,
                KernelOptions const& options = {},
                BytesClients clients = BytesClients::of_this_process) try
        : PersistentKernel(device, {device, handler, options, clients}) {
    } catch (...) {
        detail::throw_named("BytesKernel");
    }

    // Returns a block's client, see PersistentKernel::channel().
    [[nodiscard]] Channel<Bytes, Bytes>& client(unsigned block = 0) {
        return detail::in_call("BytesKernel::client",
                               [&]() -> Channel<Bytes, Bytes>& { return this->channel(block); });
    }
};

}  // namespace CARILLON_TOOLCHAIN
}  // namespace carillon
