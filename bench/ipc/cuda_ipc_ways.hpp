// SPDX-License-Identifier: Apache-2.0
// The rivals of a store of buffers: memory that one process has from cuMemAlloc, and another by
// CUDA IPC.
#pragma once

#include <carillon/device.hpp>
#include <cstdint>
#include <string>

#include "ipc/buffer_content.hpp"
#include "ipc/child.hpp"
#include "ipc/cuda_ipc.hpp"

namespace carillon::tool {

// Without a store: who writes a buffer allocates it, and sends its handle to who gets it.
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

// As vineyard does it: a third process allocates each buffer, and both others open it by its
// handle. What vineyard's clients and server say to each other as JSON are short lines here.
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
