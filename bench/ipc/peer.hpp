// SPDX-License-Identifier: Apache-2.0
// The roles of the other processes of `carillon-bench ipc`. Each follows the lines that it reads
// from its standard input, which is a socket.
#pragma once

#include <carillon/device.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ipc/child.hpp"
#include "ipc/shared_kernel.hpp"
#include "measure/socket_folder.hpp"

namespace carillon::tool {

struct Peer {
    // "caller": calls when told to, and reports how long that took. "visit": attaches when told to,
    // calls once, and ends when told to. "client": attaches when told to, and calls all the time.
    // "ledger": attaches to one owner after another, at once, and calls all the time. "owner": has
    // a kernel and serves. "store": has a store of buffers. "cuda-ipc-store": allocates buffers as
    // vineyard does. "store-get", "cuda-ipc-get", "cuda-ipc-store-get": gets each buffer that it is
    // told of, and reports when it had it.
    std::string role;
    std::filesystem::path path;  // of the socket
    std::uint64_t number = 0;    // of a client; of an owner how many clients it may have
    bool host_memory = false;
    Blocks blocks = Blocks::one_each;  // of the kernel
    std::string device = "emulated";   // of an owner
};

// The arguments that make this program such a peer.
[[nodiscard]] std::vector<std::string> arguments_of(Peer const& peer);
[[nodiscard]] inline Child start_peer(Peer const& peer) { return Child(arguments_of(peer)); }

// Does the work of such a process. Reports an exception to the other process before it throws it.
// Throws UsageError for an unknown role.
void run_peer(Peer const& peer);
void run_owner(Peer const& peer, Talk& orders);
void run_store(Peer const& peer, Talk& orders);
void run_store_reader(Peer const& peer, Talk& orders);
void run_cuda_ipc_reader(Peer const& peer, Talk& orders);
void run_cuda_ipc_store(Peer const& peer, Talk& orders);
void run_cuda_ipc_store_reader(Peer const& peer, Talk& orders);

}  // namespace carillon::tool
