// SPDX-License-Identifier: Apache-2.0
// Device source: nvcc compiles it where there is one.
#include <carillon/carillon.hpp>

#include "ipc/peer.hpp"
#include "kernels/ipc.hpp"

namespace carillon::tool {

void run_owner(Peer const& peer, Talk& orders) {
    Device const device = Device::open(peer.device);
    KernelOptions options;
    options.blocks = static_cast<unsigned>(peer.number);
    options.idle = IdlePolicy::park();
    PersistentKernel<IpcHandler, SharedChannels> const kernel(device, options);
    Server const server = kernel.serve(peer.path);
    orders.say("serving");
    (void)orders.line(std::chrono::hours(1));
}

}  // namespace carillon::tool
