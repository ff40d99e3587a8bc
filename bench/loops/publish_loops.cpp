// SPDX-License-Identifier: Apache-2.0
// One question: what does it cost the CPU to publish a line into device memory, by store
// instruction and publish mode? The alternative is a plain 64-byte memcpy with a store fence.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <carillon/carillon.hpp>
#include <cstring>
#include <memory>
#include <string>

#include "loops/loops.hpp"

namespace carillon::tool {
namespace {

constexpr std::uint32_t publish_slots = 4096;

void publish(benchmark::State& state, Memory const& memory, detail::HostStores stores) {
    detail::HostMapped const far(stores, memory.range_sync());
    auto* const lines = static_cast<detail::Line*>(memory.host_ptr());
    std::uint32_t tag = 0;
    for ([[maybe_unused]] auto _ : state) {
        detail::Line* const slot = lines + (++tag % publish_slots);
        far.store_line(slot, detail::pack(tag, tag), tag - publish_slots);
        far.commit(slot, sizeof(detail::Line));
    }
    state.SetItemsProcessed(state.iterations());
}

void copy_line(benchmark::State& state, Memory const& memory) {
    auto* const lines = static_cast<detail::Line*>(memory.host_ptr());
    std::uint32_t tag = 0;
    for ([[maybe_unused]] auto _ : state) {
        ++tag;
        detail::Line const line = detail::pack(tag, tag);
        std::memcpy(lines + (tag % publish_slots), &line, sizeof(line));
        detail::X86::store_fence();
    }
    state.SetItemsProcessed(state.iterations());
}

template <class Loop>
void add(std::string const& name, Loop loop) {
    benchmark::RegisterBenchmark(name.c_str(), loop)->Unit(benchmark::kNanosecond);
}

}  // namespace

void add_publish_loops(Device const& device) {
    auto const memory =
        std::make_shared<Memory>(device.allocate(publish_slots * sizeof(detail::Line)));
    add("publish/memcpy+fence", [memory](auto& state) { copy_line(state, *memory); });
    for (detail::StoreTraits const& each : detail::store_table()) {
        if (!supported(each.kind)) continue;
        for (detail::PublishMode mode :
             {detail::PublishMode::one_step, detail::PublishMode::two_step}) {
            add(fmt::format("publish/{}/{}", to_string(each.kind), to_string(mode)),
                [memory, stores = detail::HostStores{each.kind, mode}](auto& state) {
                    publish(state, *memory, stores);
                });
        }
    }
}

}  // namespace carillon::tool
