// SPDX-License-Identifier: Apache-2.0
// One question: at what bandwidth does the CPU copy into device memory, by size and store
// instruction? The rival is a plain memcpy with a store fence. Device: CARILLON_DEVICE, default
// best.
#include <fmt/format.h>

#include <carillon/copy.hpp>
#include <carillon/device.hpp>
#include <carillon/error.hpp>
#include <cstring>
#include <vector>

#include "on_device.hpp"

namespace {

using carillon::StoreKind;

constexpr std::int64_t smallest = 64;
constexpr std::int64_t largest = std::int64_t{16} << 20;

// Calls `copy(bytes)` with the first bytes of the source.
template <class Copy>
void measure(benchmark::State& state, Copy const& copy) {
    auto const bytes = static_cast<std::size_t>(state.range(0));
    std::vector<std::byte> const source(bytes, std::byte{1});
    for (auto _ : state) copy(std::span(source));
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

template <class Copy>
void add(std::string const& name, Copy const& copy) {
    benchmark::RegisterBenchmark(name.c_str(),
                                 [copy](benchmark::State& state) { measure(state, copy); })
        ->RangeMultiplier(4)
        ->Range(smallest, largest);
}

void register_all(carillon::Memory const& memory) {
    add("memcpy+fence", [&](std::span<std::byte const> from) {
        std::memcpy(memory.host_ptr(), from.data(), from.size());
        carillon::detail::X86::store_fence();
    });
    for (carillon::detail::StoreTraits const& each : carillon::store_table()) {
        if (!supported(each.kind)) continue;
        StoreKind const kind = each.kind;
        add(fmt::format("copy/{}", to_string(kind)), [&, kind](std::span<std::byte const> from) {
            carillon::copy_to_device(memory, 0, from, kind);
        });
    }
}

}  // namespace

int main(int argc, char** argv) {
    return carillon::bench::on_device("bench_copy", [&](carillon::Device const& device) {
        auto const memory = device.allocate(largest);
        register_all(memory);
        carillon::bench::run_all(argc, argv);
    });
}
