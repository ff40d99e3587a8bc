// SPDX-License-Identifier: Apache-2.0
// One question: what does a push into a ring cost, one at a time and in batches? The rival is the
// bare store of a line with a store fence, by the same instruction into the same memory; a kernel
// is not needed: the credit is written by hand, so that there is always room.
// Device: CARILLON_DEVICE, default best.
#include <carillon/carillon.hpp>
#include <vector>

#include "on_device.hpp"

namespace {

using carillon::ChannelMemory;
using carillon::Device;
using carillon::StoreKind;
using carillon::detail::HostCached;
using carillon::detail::HostProducer;
using carillon::detail::Line;
using carillon::detail::RingView;

constexpr std::uint32_t slots = 4096;

struct Message {
    std::uint64_t word[6];
};

carillon::detail::RingView ring_of(ChannelMemory const& memory) {
    return memory.host_view().channel(0).requests;
}

// As a consumer would that is always done.
void return_credit(ChannelMemory const& memory, carillon::detail::Sequence last) {
    *ring_of(memory).credit = last;
}

void store_fence(benchmark::State& state, Device const& device, ChannelMemory const& memory) {
    StoreKind const kind = device.stores().kind;
    carillon::detail::Line* const lines = ring_of(memory).base;
    carillon::detail::Line const line = carillon::detail::pack(std::uint64_t{1}, 1);
    std::uint32_t next = 0;
    for (auto _ : state) {
        carillon::detail::X86::store_line(kind, lines + (next++ & (slots - 1)), line);
        if (kind != StoreKind::cached) carillon::detail::X86::store_fence();
    }
    state.SetItemsProcessed(state.iterations());
}

void try_push(benchmark::State& state, Device const& device, ChannelMemory& memory) {
    memory.reset();
    carillon::detail::HostProducer<Message> ring(
        ring_of(memory), device.access(memory.device_memory()), carillon::detail::HostCached());
    Message message{};
    bool pushed = true;
    for (auto _ : state) {
        ++message.word[0];
        pushed = ring.try_push(message) && pushed;
        return_credit(memory, ring.next() - 1);
    }
    if (!pushed) state.SkipWithError("a push found no room");
    state.SetItemsProcessed(state.iterations());
}

void try_push_n(benchmark::State& state, Device const& device, ChannelMemory& memory) {
    memory.reset();
    carillon::detail::HostProducer<Message> ring(
        ring_of(memory), device.access(memory.device_memory()), carillon::detail::HostCached());
    auto const batch = static_cast<std::size_t>(state.range(0));
    std::vector<Message> const messages(batch);
    bool pushed = true;
    for (auto _ : state) {
        pushed = ring.try_push_n(messages.data(), batch) == batch && pushed;
        return_credit(memory, ring.next() - 1);
    }
    if (!pushed) state.SkipWithError("a push found no room");
    state.SetItemsProcessed(state.iterations() * state.range(0));
}

}  // namespace

int main(int argc, char** argv) {
    return carillon::bench::on_device("bench_push", [&](carillon::Device const& device) {
        ChannelMemory memory(device, 1, slots);
        benchmark::RegisterBenchmark(
            "store+fence", [&](benchmark::State& state) { store_fence(state, device, memory); });
        benchmark::RegisterBenchmark(
            "try_push", [&](benchmark::State& state) { try_push(state, device, memory); });
        benchmark::RegisterBenchmark(
            "try_push_n", [&](benchmark::State& state) { try_push_n(state, device, memory); })
            ->RangeMultiplier(4)
            ->Range(1, 1024);
        carillon::bench::run_all(argc, argv);
    });
}
