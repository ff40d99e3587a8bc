// SPDX-License-Identifier: Apache-2.0
// A kernel whose handler is Python's, on the emulated device, or text, on a GPU.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "bindings.hpp"
#include "carillon/bytes_kernel.hpp"
#include "carillon/handler_text.hpp"
#include "errors.hpp"
#include "py_client.hpp"

namespace carillon::python {

// A callable from the bytes of a request to those of a reply, and how many threads are in it.
struct Handler {
    nb::object call;
    std::size_t request_bytes;
    std::size_t reply_bytes;
    std::atomic<unsigned> inside = 0;
    // The first exception that it has raised, where the garbage collector finds it: the traceback
    // has the handler's frames, and they may have the kernel.
    std::shared_ptr<KeptException const> raised{};
};

class KernelEnd {
   public:
    KernelEnd(Device const& device, BytesType const& request, BytesType const& reply,
              nb::object handler, KernelOptions const& options, BytesClients clients);
    KernelEnd(Device const& device, CompiledHandler const& handler, KernelOptions const& options,
              BytesClients clients);
    KernelEnd(KernelEnd const&) = delete;
    KernelEnd& operator=(KernelEnd const&) = delete;
    ~KernelEnd();

    [[nodiscard]] ClientEnd client(unsigned block);
    [[nodiscard]] BytesKernel& kernel();
    // The garbage collector asks for it.
    [[nodiscard]] Handler const* handler() const { return handler_.get(); }
    // Ends the kernel and frees the handler, unless a thread is stuck in it.
    void close();

   private:
    std::unique_ptr<Handler> handler_;  // of Python's
    std::optional<BytesKernel> kernel_;
    std::vector<std::shared_ptr<ClientState>> clients_;  // of each block that was asked for
};

}  // namespace carillon::python
