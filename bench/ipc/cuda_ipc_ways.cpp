// SPDX-License-Identifier: Apache-2.0
#include "ipc/cuda_ipc_ways.hpp"

#include "ipc/peer.hpp"

namespace carillon::tool {
namespace {

// Opens a buffer, and says when it had it.
void get_by_handle(CudaIpc const& cuda, std::string const& handle, Talk const& orders) {
    GotBuffer got;
    CudaIpc::Address const memory = cuda.open(from_hexadecimal(handle));
    got.at = time_now();
    std::span const word(&got.word, 1);
    cuda.copy_to_host(std::as_writable_bytes(word), memory + buffer_bytes - word.size_bytes());
    cuda.close(memory);
    orders.say(to_line(got));
}

}  // namespace

CudaIpcWay::CudaIpcWay(Device const& device, std::string const& selector)
    : cuda_(device.info()),
      reader_(start_peer({.role = "cuda-ipc-get", .path = "-", .device = selector})) {
    reader_.expect("ready");
}

std::uint32_t CudaIpcWay::put(Content& content) {
    auto const bytes = content.next();
    Time const begin = time_now();
    CudaIpc::Address const memory = cuda_.allocate(bytes.size());
    cuda_.copy_to_device(memory, bytes);
    reader_.talk().say(to_hexadecimal(cuda_.share(memory)));
    Time const end = content.arrival(reader_.talk().line());
    cuda_.free(memory);
    return static_cast<std::uint32_t>(end - begin);
}

void CudaIpcWay::end() {
    reader_.talk().say("end");
    reader_.await_end();
}

void run_cuda_ipc_reader(Peer const& peer, Talk& orders) {
    CudaIpc const cuda(Device::open(peer.device).info());
    orders.say("ready");
    for (std::string order; (order = orders.line(until_told)) != "end";) {
        get_by_handle(cuda, order, orders);
    }
}

CudaIpcStoreWay::CudaIpcStoreWay(Device const& device, std::string const& selector)
    : cuda_(device.info()),
      store_(start_peer({.role = "cuda-ipc-store", .path = "-", .device = selector})) {
    store_.expect("ready");
}

std::uint32_t CudaIpcStoreWay::put(Content& content) {
    auto const bytes = content.next();
    Talk& store = store_.talk();
    Time const begin = time_now();
    store.say("create");
    CudaIpc::Address const memory = cuda_.open(from_hexadecimal(store.line()));
    cuda_.copy_to_device(memory, bytes);
    store.say("seal");
    store_.expect("sealed");
    Time const end = content.arrival(store.line());
    cuda_.close(memory);
    store.say("remove");
    store_.expect("removed");
    return static_cast<std::uint32_t>(end - begin);
}

void CudaIpcStoreWay::end() {
    store_.talk().say("end");
    store_.await_end();
}

// Starts the process that gets the buffers, which hears of a sealed one and asks for it.
void run_cuda_ipc_store(Peer const& peer, Talk& orders) {
    CudaIpc const cuda(Device::open(peer.device).info());
    Child reader = start_peer({.role = "cuda-ipc-store-get", .path = "-", .device = peer.device});
    reader.expect("ready");
    orders.say("ready");
    CudaIpc::Address memory = 0;
    for (std::string order; (order = orders.line(until_told)) != "end";) {
        if (order == "create") {
            memory = cuda.allocate(buffer_bytes);
            orders.say(to_hexadecimal(cuda.share(memory)));
        } else if (order == "seal") {
            orders.say("sealed");
            reader.talk().say("sealed");
            reader.expect("get");
            reader.talk().say(to_hexadecimal(cuda.share(memory)));
            orders.say(reader.talk().line());
        } else {
            cuda.free(memory);
            orders.say("removed");
        }
    }
    reader.talk().say("end");
    reader.await_end();
}

void run_cuda_ipc_store_reader(Peer const& peer, Talk& orders) {
    CudaIpc const cuda(Device::open(peer.device).info());
    orders.say("ready");
    for (std::string order; (order = orders.line(until_told)) != "end";) {
        orders.say("get");
        get_by_handle(cuda, orders.line(), orders);
    }
}

}  // namespace carillon::tool
