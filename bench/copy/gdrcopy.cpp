// SPDX-License-Identifier: Apache-2.0
#include "copy/gdrcopy.hpp"

#include <fmt/format.h>

#include <carillon/copy.hpp>
#include <carillon/error.hpp>
#include <chrono>

#include "measure/interrupt.hpp"

namespace carillon::tool {
namespace {

constexpr std::string_view to_mapping = "gdr_copy_to_mapping";
constexpr std::string_view from_mapping = "gdr_copy_from_mapping";
constexpr std::uint64_t most_writes = 10'000;
constexpr std::uint64_t most_reads = 100;
constexpr std::size_t size_of_copybw = std::size_t{128} << 10;
constexpr std::chrono::milliseconds moment(20);

// Looks at the clock once for as many copies as were made so far: one copy may take as long.
template <class Copy>
GdrcopyRow time_copy(std::string_view name, std::size_t bytes, std::uint64_t most, Copy&& copy) {
    using Clock = std::chrono::steady_clock;
    copy();
    auto const start = Clock::now();
    auto now = start;
    std::uint64_t made = 0;
    for (std::uint64_t until = 1; made < most && now - start < moment;
         until = std::min(2 * until, most)) {
        for (; made < until; ++made) copy();
        now = Clock::now();
    }
    double const us = std::chrono::duration<double, std::micro>(now - start).count();
    double const average = us / static_cast<double>(made);
    double const mb = static_cast<double>(bytes) / (1 << 20);
    return {std::string(name), bytes, made, average, average > 0 ? mb / average * 1e6 : 0};
}

std::string bandwidth_of(std::vector<GdrcopyRow> const& rows, std::string_view name,
                         std::string_view what) {
    for (GdrcopyRow const& each : rows) {
        if (each.name != name || each.bytes != size_of_copybw) continue;
        return fmt::format("{} BW: {:.2f}MB/s (size={} num_iters={})\n", what, each.mb_per_s,
                           each.bytes, each.iterations);
    }
    return {};
}

}  // namespace

std::vector<GdrcopyRow> run_gdrcopy(Device const& device, std::size_t largest,
                                    Progress const& progress) {
    if (largest == 0) throw UsageError("copy --gdrcopy", "there must be copies of at least 1 byte");
    Memory const there = device.allocate(largest);
    std::vector<std::byte> here(largest, std::byte{1});
    std::vector<std::size_t> sizes;
    for (std::size_t size = 1; size <= largest; size *= 2) sizes.push_back(size);
    std::vector<GdrcopyRow> rows;
    auto const done = [&] {
        progress(static_cast<double>(rows.size()) / static_cast<double>(2 * sizes.size()));
    };
    for (std::size_t const size : sizes) {
        if (interrupted()) break;
        std::span const from(here.data(), size);
        rows.push_back(
            time_copy(to_mapping, size, most_writes, [&] { copy_to_device(there, 0, from); }));
        done();
    }
    for (std::size_t const size : sizes) {
        if (interrupted()) break;
        std::span const to(here.data(), size);
        rows.push_back(
            time_copy(from_mapping, size, most_reads, [&] { copy_from_device(to, there, 0); }));
        done();
    }
    return rows;
}

nlohmann::json to_json(GdrcopyRow const& row) {
    return {{"name", row.name},
            {"bytes", row.bytes},
            {"iterations", row.iterations},
            {"average_us", row.average_us},
            {"mb_per_s", row.mb_per_s}};
}

std::string gdrcopy_table(std::vector<GdrcopyRow> const& rows) {
    std::string text =
        fmt::format("{:<22}{:>10}{:>15}{:>12}\n", "Test", "Size(B)", "Avg.Time(us)", "BW(MB/s)");
    for (GdrcopyRow const& each : rows) {
        text += fmt::format("{:<22}{:>10}{:>15.4f}{:>12.2f}\n", each.name, each.bytes,
                            each.average_us, each.mb_per_s);
    }
    return text + bandwidth_of(rows, to_mapping, "write") +
           bandwidth_of(rows, from_mapping, "read");
}

}  // namespace carillon::tool
