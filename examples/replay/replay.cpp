// SPDX-License-Identifier: Apache-2.0
// Device source: nvcc compiles it where there is one.
#include "examples/replay/replay.hpp"

#include <algorithm>
#include <limits>

#include "carillon/kernel.hpp"

namespace carillon::example {
namespace {

constexpr std::size_t progress_interval = 4096;

using Clock = std::chrono::steady_clock;

[[nodiscard]] std::uint32_t nanoseconds(Clock::duration time) {
    constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
    std::int64_t const count = std::chrono::nanoseconds(time).count();
    return static_cast<std::uint32_t>(std::min(count, most));
}

void send_all(Channel<MboRecord, MboTally>& channel, std::span<MboRecord const> records,
              std::chrono::nanoseconds timeout, tool::Progress const& progress,
              ReplayResult& result) {
    for (MboRecord const& record : records) {
        auto const start = Clock::now();
        result.device = channel.call(record, timeout);
        result.latencies_ns.push_back(nanoseconds(Clock::now() - start));
        ++result.records;
        require_reply_to(result.records, result.device);
        if (progress && result.records % progress_interval == 0) {
            progress(static_cast<double>(result.records) / static_cast<double>(records.size()));
        }
    }
    if (progress) progress(1);
}

}  // namespace

ReplayResult run_replay(Device const& device, dbn::MboFile const& file,
                        ReplayOptions const& options, tool::Progress const& progress) {
    auto const records = file.records();
    ReplayResult result;
    result.host = tally_on_host(records);
    result.latencies_ns.reserve(records.size());
    KernelOptions kernel_options;
    kernel_options.lifetime = options.lifetime;
    PersistentKernel<TallyRecords> kernel(device, kernel_options);
    send_all(kernel.channel(), records, options.call_timeout, progress, result);
    kernel.stop();
    return result;
}

}  // namespace carillon::example
