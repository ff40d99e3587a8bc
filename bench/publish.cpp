// SPDX-License-Identifier: Apache-2.0
// One question: what does it cost the CPU to publish a line into device memory, by store
// instruction and publish mode? The rival is a plain 64-byte memcpy with a store fence.
// Device: CARILLON_DEVICE, default best.
#include <fmt/format.h>

#include <carillon/carillon.hpp>
#include <cstring>

#include "on_device.hpp"

namespace {

using carillon::HostMapped;
using carillon::HostStores;
using carillon::Line;
using carillon::PublishMode;
using carillon::StoreKind;

constexpr std::uint32_t slots = 4096;

void publish(benchmark::State& state, carillon::Memory const& memory, HostStores stores) {
    HostMapped const far(stores, memory.range_sync());
    auto* const lines = static_cast<Line*>(memory.host_ptr());
    std::uint32_t tag = 0;
    for (auto _ : state) {
        Line* const slot = lines + (++tag % slots);
        far.store_line(slot, carillon::pack(tag, tag), tag - slots);
        far.commit(slot, sizeof(Line));
    }
    state.SetItemsProcessed(state.iterations());
}

void copy(benchmark::State& state, carillon::Memory const& memory) {
    auto* const lines = static_cast<Line*>(memory.host_ptr());
    std::uint32_t tag = 0;
    for (auto _ : state) {
        ++tag;
        Line const line = carillon::pack(tag, tag);
        std::memcpy(lines + (tag % slots), &line, sizeof(line));
        carillon::X86::store_fence();
    }
    state.SetItemsProcessed(state.iterations());
}

void register_all(carillon::Memory const& memory) {
    benchmark::RegisterBenchmark("memcpy+fence",
                                 [&](benchmark::State& state) { copy(state, memory); });
    for (carillon::StoreTraits const& each : carillon::store_table()) {
        if (!supported(each.kind)) continue;
        StoreKind const kind = each.kind;
        for (PublishMode mode : {PublishMode::one_step, PublishMode::two_step}) {
            auto const name = fmt::format("publish/{}/{}", to_string(kind), to_string(mode));
            benchmark::RegisterBenchmark(name.c_str(), [&memory, kind, mode](auto& state) {
                publish(state, memory, {kind, mode});
            });
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    return carillon::bench::on_device("bench_publish", [&](carillon::Device const& device) {
        auto const memory = device.allocate(slots * sizeof(Line));
        register_all(memory);
        carillon::bench::run_all(argc, argv);
    });
}
