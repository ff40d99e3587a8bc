// SPDX-License-Identifier: Apache-2.0
// A buffer from one process to another: by a store, and as CUDA shares memory. From when the one
// begins to make it, with its bytes in ordinary memory, until the other has it on its device.
#include <carillon/carillon.hpp>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "ipc/buffer_content.hpp"
#include "ipc/cuda_ipc_ways.hpp"
#include "ipc/ipc.hpp"
#include "ipc/peer.hpp"
#include "measure/turns.hpp"

namespace carillon::tool {
namespace {

constexpr std::uint32_t unmeasured_puts = 20;
// The process that gets buffers ends when it gets one of this name.
constexpr std::string_view last_buffer = "last";

// How long a put and its parts take, in ns.
struct StorePut {
    std::uint32_t whole = 0;
    std::uint32_t create = 0;
    std::uint32_t write = 0;
    std::uint32_t seal = 0;
    std::uint32_t get = 0;  // from the begin of sealing, of which the other process hears
};

std::uint32_t span_of(Time begin, Time end) { return static_cast<std::uint32_t>(end - begin); }

class StoreWay {
   public:
    StoreWay(Device const& device, std::string const& selector)
        : owner_(start_peer({.role = "store", .path = folder_.socket(), .device = selector})),
          store_(connect(device)),
          reader_(start_peer({.role = "store-get", .path = folder_.socket(), .device = selector})) {
        reader_.expect("ready");
    }

    StorePut put(Content& content) {
        auto const bytes = content.next();
        Time const begin = time_now();
        Buffer buffer = store_->create("", bytes.size());
        Time const created = time_now();
        buffer.write(bytes);
        Time const written = time_now();
        // This process lets go of the buffer here, so that remove() makes its memory ready for the
        // next one.
        std::uint64_t const id = Buffer(std::move(buffer)).seal().id();
        Time const sealed = time_now();
        Time const end = content.arrival(reader_.talk().line());
        store_->remove(id);
        return {span_of(begin, end), span_of(begin, created), span_of(created, written),
                span_of(written, sealed), span_of(written, end)};
    }
    void end() {
        Buffer last = store_->create(last_buffer, 1);
        (void)last.seal();
        reader_.await_end();
        owner_.talk().say("end");
        owner_.await_end();
    }

   private:
    std::optional<Store> connect(Device const& device) {
        owner_.expect("serving");
        return Store(folder_.socket(),
                     {.timeout = patience, .device = std::make_shared<Device>(device)});
    }

    SocketFolder folder_;
    Child owner_;
    std::optional<Store> store_;
    Child reader_;
};

struct StoreSamples {
    Samples whole, create, write, seal, get;

    void add(StorePut const& put) {
        whole.push_back(put.whole);
        create.push_back(put.create);
        write.push_back(put.write);
        seal.push_back(put.seal);
        get.push_back(put.get);
    }
};

void put_many(StoreWay& way, Content& content, std::uint32_t count, StoreSamples& samples) {
    for (std::uint32_t i = 0; i < count && !interrupted(); ++i) samples.add(way.put(content));
}
template <class Way>
void put_many(Way& way, Content& content, std::uint32_t count, Samples& samples) {
    for (std::uint32_t i = 0; i < count && !interrupted(); ++i) samples.push_back(way.put(content));
}

// Both ways by CUDA IPC.
class Alternatives {
   public:
    Alternatives(Device const& device, std::string const& selector)
        : bare_(device, selector), store_(device, selector) {}

    void put_bare(Content& content, std::uint32_t count) {
        put_many(bare_, content, count, bare_samples_);
    }
    void put_by_store(Content& content, std::uint32_t count) {
        put_many(store_, content, count, store_samples_);
    }
    void forget() {
        bare_samples_.clear();
        store_samples_.clear();
    }
    std::vector<LatencySummary> end() {
        bare_.end();
        store_.end();
        return {summarize("cuda-ipc-get", bare_samples_),
                summarize("cuda-ipc-store-get", store_samples_)};
    }

   private:
    CudaIpcWay bare_;
    CudaIpcStoreWay store_;
    Samples bare_samples_;
    Samples store_samples_;
};

}  // namespace

IpcBuffers time_ipc_buffers(Device const& device, IpcOptions const& options,
                            Progress const& progress) {
    IpcBuffers result;
    result.bytes = buffer_bytes;
    Content content;
    StoreWay store(device, options.device);
    std::optional<Alternatives> alternatives;
    if (device.emulated()) {
        result.why_no_cuda_ipc = "the device is emulated";
    } else {
        alternatives.emplace(device, options.device);
    }
    StoreSamples unmeasured;
    put_many(store, content, unmeasured_puts, unmeasured);
    if (alternatives) {
        alternatives->put_bare(content, unmeasured_puts);
        alternatives->put_by_store(content, unmeasured_puts);
        alternatives->forget();
    }
    StoreSamples samples;
    std::uint32_t const puts = options.puts / options.rounds;
    take_turns(options.rounds, alternatives ? 3 : 1, progress, [&](std::size_t turn) {
        if (turn == 0) put_many(store, content, puts, samples);
        if (turn == 1) alternatives->put_bare(content, puts);
        if (turn == 2) alternatives->put_by_store(content, puts);
    });
    store.end();
    result.store = summarize("store-get", samples.whole);
    result.parts = {summarize("store-create", samples.create),
                    summarize("store-write", samples.write), summarize("store-seal", samples.seal),
                    summarize("store-seal-to-got", samples.get)};
    if (alternatives) result.alternatives = alternatives->end();
    return result;
}

void run_store(Peer const& peer, Talk& orders) {
    Store const store(Device::open(peer.device));
    Server const server = store.serve(peer.path);
    orders.say("serving");
    (void)orders.line(until_told);
}

void run_store_reader(Peer const& peer, Talk& orders) {
    Store const store(peer.path, {.timeout = patience,
                                  .spin = talk_spin,
                                  .device = std::make_shared<Device>(Device::open(peer.device))});
    SealedBuffers buffers = store.sealed_buffers();
    orders.say("ready");
    while (auto buffer = buffers.next(until_told)) {
        if (buffer->name() == last_buffer) return;
        (void)buffer->device_ptr();
        GotBuffer got{.at = time_now()};
        std::span const word(&got.word, 1);
        buffer->read(std::as_writable_bytes(word), buffer->size() - word.size_bytes());
        buffer.reset();
        orders.say(to_line(got));
    }
}

}  // namespace carillon::tool
