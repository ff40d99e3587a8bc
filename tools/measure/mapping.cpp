// SPDX-License-Identifier: Apache-2.0
#include "measure/mapping.hpp"

#include <array>
#include <atomic>
#include <carillon/detail/machine/cpu_atomics.hpp>
#include <carillon/detail/machine/x86.hpp>
#include <chrono>
#include <cstddef>

#include "measure/latency.hpp"

namespace carillon::tool {
namespace {

// The time of `run()` at the median of a few dozen.
template <class Run>
double time_of(Run&& run) {
    using Clock = std::chrono::steady_clock;
    Samples samples;
    for (int i = 0; i < 51; ++i) {
        auto const start = Clock::now();
        run();
        samples.push_back(static_cast<std::uint32_t>((Clock::now() - start).count()));
    }
    return summarize("", samples).p50_ns;
}

// Single accesses, which no compiler joins with their neighbours.
std::uint64_t load(std::uint64_t const* from) {
    return detail::cpu::StdWords::load(from, std::memory_order_relaxed);
}
void store(std::uint64_t* to, std::uint64_t value) {
    detail::cpu::StdWords::store(to, value, std::memory_order_relaxed);
}

}  // namespace

std::string_view to_string(Mapping mapping) {
    static constexpr std::array<std::string_view, 3> names{"write-combining", "uncached", "cached"};
    return names.at(static_cast<std::size_t>(mapping));
}

Mapping MappingReport::conclusion() const {
    constexpr double slowest_cached_load_ns = 100;
    constexpr double least_ratio = 1.5;
    if (load_ns < slowest_cached_load_ns) return Mapping::cached;
    bool const combined = eight_lines_ns > least_ratio * one_line_ns;
    return combined || lingered ? Mapping::write_combining : Mapping::uncached;
}

MappingReport measure_mapping(Device const& device) {
    constexpr std::uint32_t lines = 8;
    constexpr std::uint32_t loads = 16;
    Memory const memory = device.allocate(lines * sizeof(detail::Line));
    auto* const words = static_cast<std::uint64_t*>(memory.host_ptr());
    constexpr std::uint32_t words_per_line = sizeof(detail::Line) / sizeof(*words);
    MappingReport report;
    report.load_ns = time_of([&] {
                         for (std::uint32_t i = 0; i < loads; ++i) (void)load(words + i);
                     }) /
                     loads;
    report.one_line_ns = time_of([&] {
        for (std::uint32_t i = 0; i < lines; ++i) store(words + i, i);
        detail::X86::store_fence();
    });
    report.eight_lines_ns = time_of([&] {
        for (std::uint32_t i = 0; i < lines; ++i) store(words + std::size_t{i} * words_per_line, i);
        detail::X86::store_fence();
    });
    return report;
}

}  // namespace carillon::tool
