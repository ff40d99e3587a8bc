// SPDX-License-Identifier: Apache-2.0
#include <carillon/carillon.hpp>

#include "ipc/peer.hpp"
#include "ipc/shared_kernel.hpp"

namespace carillon::tool {

void run_owner(Peer const& peer, Talk& orders) {
    Device const device = Device::open(peer.device);
    KernelOptions options;
    options.idle = IdlePolicy::park();
    SharedKernel const kernel(device, options, peer.blocks, static_cast<unsigned>(peer.number));
    Server const server = kernel.serve(peer.path);
    orders.say("serving");
    (void)orders.line(until_told);
}

}  // namespace carillon::tool
