// SPDX-License-Identifier: Apache-2.0
// One question: what does it cost the CPU to publish a line into device memory, by store
// instruction and publish mode? The rival is a plain 64-byte memcpy with a store fence.
// Device: CARILLON_DEVICE, default best.
#include <fmt/format.h>

#include <carillon/carillon.hpp>
#include <cstring>

#include "on_device.hpp"

namespace {

using carillon::StoreKind;
using carillon::detail::HostMapped;
using carillon::detail::HostStores;
using carillon::detail::Line;
using carillon::detail::PublishMode;

constexpr std::uint32_t slots = 4096;

void publish(benchmark::State& state, carillon::Memory const& memory,
             carillon::detail::HostStores stores) {
    carillon::detail::HostMapped const far(stores, memory.range_sync());
    auto* const lines = static_cast<carillon::detail::Line*>(memory.host_ptr());
    std::uint32_t tag = 0;
    for (auto _ : state) {
        carillon::detail::Line* const slot = lines + (++tag % slots);
        far.store_line(slot, carillon::detail::pack(tag, tag), tag - slots);
        far.commit(slot, sizeof(carillon::detail::Line));
    }
    state.SetItemsProcessed(state.iterations());
}

void copy(benchmark::State& state, carillon::Memory const& memory) {
    auto* const lines = static_cast<carillon::detail::Line*>(memory.host_ptr());
    std::uint32_t tag = 0;
    for (auto _ : state) {
        ++tag;
        carillon::detail::Line const line = carillon::detail::pack(tag, tag);
        std::memcpy(lines + (tag % slots), &line, sizeof(line));
        carillon::detail::X86::store_fence();
    }
    state.SetItemsProcessed(state.iterations());
}

void register_all(carillon::Memory const& memory) {
    benchmark::RegisterBenchmark("memcpy+fence",
                                 [&](benchmark::State& state) { copy(state, memory); });
    for (carillon::detail::StoreTraits const& each : carillon::store_table()) {
        if (!supported(each.kind)) continue;
        StoreKind const kind = each.kind;
        for (carillon::detail::PublishMode mode :
             {carillon::detail::PublishMode::one_step, carillon::detail::PublishMode::two_step}) {
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
        auto const memory = device.allocate(slots * sizeof(carillon::detail::Line));
        register_all(memory);
        carillon::bench::run_all(argc, argv);
    });
}
