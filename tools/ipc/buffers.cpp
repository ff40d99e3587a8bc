// SPDX-License-Identifier: Apache-2.0
// A buffer from one process to another: by a store, and as CUDA shares memory. From when the one
// begins to make it, with its bytes in ordinary memory, until the other has it on its device.
#include <fmt/format.h>

#include <carillon/carillon.hpp>
#include <chrono>
#include <cstring>
#include <optional>
#include <sstream>
#include <vector>

#include "ipc/cuda_ipc.hpp"
#include "ipc/ipc.hpp"
#include "ipc/peer.hpp"
#include "measure/turns.hpp"

namespace carillon::tool {
namespace {

using Time = std::int64_t;  // of the steady clock, which all processes have, in ns
constexpr std::size_t buffer_bytes = std::size_t{1} << 20;
constexpr std::uint32_t unmeasured_puts = 20;

Time time_now() {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The other process says when it had the buffer, and the word at its end.
struct GotBuffer {
    Time at = 0;
    std::uint64_t word = 0;
};

std::string to_line(GotBuffer const& got) { return fmt::format("{} {}", got.at, got.word); }

// What is put: a number in the last word, which is another each time.
class Content {
   public:
    Content() : bytes_(buffer_bytes) {}
    std::span<std::byte const> next() {
        ++number_;
        std::memcpy(bytes_.data() + bytes_.size() - sizeof(number_), &number_, sizeof(number_));
        return bytes_;
    }
    // Throws Error where the other process has seen something else.
    Time arrival(std::string const& line) const {
        std::istringstream said(line);
        GotBuffer got;
        said >> got.at >> got.word;
        if (said && got.word == number_) return got.at;
        throw Error("ipc", fmt::format("buffer {} came as \"{}\"", number_, line));
    }

   private:
    std::vector<std::byte> bytes_;
    std::uint64_t number_ = 0;
};

class StoreWay {
   public:
    StoreWay(Device const& device, std::string const& selector)
        : owner_(start_peer({.role = "store", .path = folder_.socket(), .device = selector})),
          store_(connect(device)),
          reader_(start_peer({.role = "store-get", .path = folder_.socket(), .device = selector})) {
        reader_.expect("ready");
    }

    std::uint32_t put(Content& content) {
        auto const bytes = content.next();
        Time const begin = time_now();
        MutableBuffer buffer = store_->create("", bytes.size());
        buffer.write(bytes);
        std::uint64_t const id = buffer.seal().id();
        reader_.talk().say(std::to_string(id));
        Time const end = content.arrival(reader_.talk().line());
        store_->remove(id);
        return static_cast<std::uint32_t>(end - begin);
    }
    void end() {
        for (Child* each : {&reader_, &owner_}) {
            each->talk().say("end");
            each->await_end();
        }
    }

   private:
    std::optional<StoreConnection> connect(Device const& device) {
        owner_.expect("serving");
        return StoreConnection(folder_.socket(), {.timeout = patience, .device = device});
    }

    SocketFolder folder_;
    Child owner_;
    std::optional<StoreConnection> store_;
    Child reader_;
};

class CudaWay {
   public:
    CudaWay(Device const& device, std::string const& selector)
        : cuda_(device.info()),
          reader_(start_peer({.role = "cuda-ipc-get", .path = "-", .device = selector})) {
        reader_.expect("ready");
    }

    std::uint32_t put(Content& content) {
        auto const bytes = content.next();
        Time const begin = time_now();
        CudaIpc::Address const memory = cuda_.allocate(bytes.size());
        cuda_.copy_to_device(memory, bytes);
        reader_.talk().say(to_hexadecimal(cuda_.share(memory)));
        Time const end = content.arrival(reader_.talk().line());
        cuda_.free(memory);
        return static_cast<std::uint32_t>(end - begin);
    }
    void end() {
        reader_.talk().say("end");
        reader_.await_end();
    }

   private:
    CudaIpc cuda_;
    Child reader_;
};

template <class Way>
void put_many(Way& way, Content& content, std::uint32_t count, Samples& samples) {
    for (std::uint32_t i = 0; i < count; ++i) samples.push_back(way.put(content));
}

}  // namespace

IpcBuffers time_ipc_buffers(Device const& device, IpcOptions const& options,
                            Progress const& progress) {
    IpcBuffers result;
    result.bytes = buffer_bytes;
    Content content;
    Samples store_samples;
    Samples cuda_samples;
    StoreWay store(device, options.device);
    std::optional<CudaWay> cuda;
    if (device.emulated()) {
        result.why_no_cuda_ipc = "the device is emulated";
    } else {
        cuda.emplace(device, options.device);
    }
    Samples unmeasured;
    put_many(store, content, unmeasured_puts, unmeasured);
    if (cuda) put_many(*cuda, content, unmeasured_puts, unmeasured);
    std::uint32_t const puts = options.puts / options.rounds;
    take_turns(options.rounds, cuda ? 2 : 1, progress, [&](std::size_t turn) {
        if (turn == 0) {
            put_many(store, content, puts, store_samples);
        } else {
            put_many(*cuda, content, puts, cuda_samples);
        }
    });
    store.end();
    result.rows.push_back(summarize("store-get", store_samples));
    if (cuda) {
        cuda->end();
        result.rows.push_back(summarize("cuda-ipc-get", cuda_samples));
    }
    return result;
}

void run_store(Peer const& peer, Talk& orders) {
    BufferStore const store(Device::open(peer.device));
    StoreServer const server = store.serve(peer.path);
    orders.say("serving");
    (void)orders.line(std::chrono::hours(1));
}

void run_store_reader(Peer const& peer, Talk& orders) {
    StoreConnection const store(peer.path,
                                {.timeout = patience, .device = Device::open(peer.device)});
    orders.say("ready");
    for (std::string order; (order = orders.line(std::chrono::hours(1))) != "end";) {
        GotBuffer got;
        {
            Buffer const buffer = store.get(std::stoull(order));
            (void)buffer.device_ptr();
            got.at = time_now();
            std::span const word(&got.word, 1);
            buffer.read(std::as_writable_bytes(word), buffer.size() - word.size_bytes());
        }
        orders.say(to_line(got));
    }
}

void run_cuda_ipc_reader(Peer const& peer, Talk& orders) {
    Device const device = Device::open(peer.device);
    CudaIpc const cuda(device.info());
    orders.say("ready");
    for (std::string order; (order = orders.line(std::chrono::hours(1))) != "end";) {
        GotBuffer got;
        CudaIpc::Address const memory = cuda.open(from_hexadecimal(order));
        got.at = time_now();
        std::span const word(&got.word, 1);
        cuda.copy_to_host(std::as_writable_bytes(word), memory + buffer_bytes - word.size_bytes());
        cuda.close(memory);
        orders.say(to_line(got));
    }
}

}  // namespace carillon::tool
