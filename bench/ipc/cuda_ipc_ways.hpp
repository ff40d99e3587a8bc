// SPDX-License-Identifier: Apache-2.0
// The alternatives to a store of buffers: one process has memory from cuMemAlloc, another opens it
// by CUDA IPC.
#pragma once

#include <carillon/device.hpp>
#include <cstdint>
#include <string>

#include "ipc/buffer_content.hpp"
#include "ipc/child.hpp"
#include "ipc/cuda_ipc.hpp"

namespace carillon::tool {

// Without a store: the process that writes a buffer allocates it, and sends its handle to the
// process that gets it.
class CudaIpcWay {
   public:
    CudaIpcWay(Device const& device, std::string const& selector);
    // Returns how long it took, in ns.
    [[nodiscard]] std::uint32_t put(Content& content);
    void end();

   private:
    CudaIpc cuda_;
    Child reader_;
};

// The design of vineyard: a third process allocates each buffer, and both others open it by its
// handle. vineyard's clients and server exchange JSON; here they exchange short lines.
class CudaIpcStoreWay {
   public:
    CudaIpcStoreWay(Device const& device, std::string const& selector);
    [[nodiscard]] std::uint32_t put(Content& content);
    void end();

   private:
    CudaIpc cuda_;
    Child store_;
};

}  // namespace carillon::tool
