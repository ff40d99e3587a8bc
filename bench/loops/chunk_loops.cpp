// SPDX-License-Identifier: Apache-2.0
// One question: how many bytes per second go from the CPU's memory through chunks to a kernel, by
// size of chunk? The alternative is a plain memcpy and a store fence of the same bytes into the
// same kind of memory, without telling a kernel. The kernel reads only one byte of each 4096: the
// question is the way there.

#include <benchmark/benchmark.h>

#include <carillon/carillon.hpp>
#include <carillon/copy.hpp>
#include <cstring>
#include <utility>
#include <vector>

#include "loops/loops.hpp"

namespace carillon::tool {
namespace {

using namespace std::chrono_literals;

struct LastMark {
    std::uint64_t last;
};

struct TakeChunks {
    DeviceChunkReader<LastMark> chunks;
    std::uint64_t* looked_at;  // in host memory

    CARILLON_HD void operator()(unsigned /*block*/) {
        DeviceClock const clock;
        std::uint64_t sum = 0;
        for (std::uint32_t polls = 0; polls < 1U << 26;) {
            ChunkView<LastMark> chunk{};
            if (!chunks.try_take(chunk)) {
                clock.idle(++polls);
                continue;
            }
            polls = 0;
            for (std::size_t i = 0; i < chunk.size; i += 4096) {
                sum += static_cast<std::uint64_t>(chunk.data[i]);
            }
            chunks.release(chunk.sequence);
            if (chunk.meta.last != 0) break;
        }
        detail::DeviceFar().store_word(looked_at, sum);
    }
};

constexpr std::uint32_t chunk_slots = 8;

void through_chunks(benchmark::State& state, Device const& device) {
    auto const size = static_cast<std::size_t>(state.range(0));
    std::vector<std::byte> const from(size, std::byte{1});
    ChunkRing<LastMark> ring(device, {.chunk_bytes = size, .chunks = chunk_slots});
    auto const word = device.allocate_host(64);
    auto const kernel =
        launch(device, 1,
               TakeChunks{ring.device_handle(), static_cast<std::uint64_t*>(word.device_ptr())});
    for ([[maybe_unused]] auto _ : state) {
        auto chunk = ring.claim(10s);
        chunk.fill(0, from);
        chunk.commit(size, {0});
    }
    ring.claim(10s).commit(0, {1});
    if (!kernel.wait(10s)) state.SkipWithError("the kernel did not end");
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

void memcpy_and_fence(benchmark::State& state, Device const& device) {
    auto const size = static_cast<std::size_t>(state.range(0));
    std::vector<std::byte> const from(size, std::byte{1});
    auto const memory = device.allocate(chunk_slots * size);
    std::size_t slot = 0;
    for ([[maybe_unused]] auto _ : state) {
        std::memcpy(static_cast<std::byte*>(memory.host_ptr()) + slot++ % chunk_slots * size,
                    from.data(), size);
        detail::X86::store_fence();
    }
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

}  // namespace

void add_chunk_loops(Device const& device) {
    for (auto const& [name, run] : {std::pair("chunks/memcpy+fence", &memcpy_and_fence),
                                    std::pair("chunks/filled", &through_chunks)}) {
        benchmark::RegisterBenchmark(name,
                                     [&device, run = run](auto& state) { run(state, device); })
            ->Arg(65536)
            ->Arg(1048576)
            ->UseRealTime();
    }
}

}  // namespace carillon::tool
