// SPDX-License-Identifier: Apache-2.0
// What the other processes of `carillon-bench ipc` do, each led by the lines that it is told on its
// standard input, a socket.
#pragma once

#include <carillon/device.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ipc/child.hpp"
#include "ipc/shared_kernel.hpp"

namespace carillon::tool {

struct Peer {
    // "caller": calls when it is told to, and tells how long that took. "visit": attaches when it
    // is told to, calls once, and ends when it is told to. "client": attaches when it is told to,
    // and calls all the time. "ledger": the same at one owner after another, at once. "owner": has
    // a kernel and serves. "store": has a store of buffers. "cuda-ipc-store": the same as vineyard
    // has it. "store-get", "cuda-ipc-get", "cuda-ipc-store-get": gets each buffer that it is told
    // of, and tells when it had it.
    std::string role;
    std::filesystem::path path;  // of the socket
    std::uint64_t number = 0;    // of a client; of an owner how many clients it may have
    bool host_memory = false;
    Blocks blocks = Blocks::one_each;  // of the kernel
    std::string device = "emulated";   // of an owner
};

// The arguments by which this program becomes that.
[[nodiscard]] std::vector<std::string> arguments_of(Peer const& peer);
[[nodiscard]] inline Child start_peer(Peer const& peer) { return Child(arguments_of(peer)); }

// The path of a socket, in a folder of its own that goes with it.
class SocketFolder {
   public:
    SocketFolder();  // throws SystemError
    SocketFolder(SocketFolder const&) = delete;
    SocketFolder& operator=(SocketFolder const&) = delete;
    ~SocketFolder();
    [[nodiscard]] std::filesystem::path socket() const { return folder_ / "kernel.sock"; }

   private:
    std::filesystem::path folder_;
};

// In such a process: does it. What it throws it tells before. Throws UsageError for another role.
void run_peer(Peer const& peer);
void run_owner(Peer const& peer, Talk& orders);
void run_store(Peer const& peer, Talk& orders);
void run_store_reader(Peer const& peer, Talk& orders);
void run_cuda_ipc_reader(Peer const& peer, Talk& orders);
void run_cuda_ipc_store(Peer const& peer, Talk& orders);
void run_cuda_ipc_store_reader(Peer const& peer, Talk& orders);

}  // namespace carillon::tool
