// SPDX-License-Identifier: Apache-2.0
#include "carillon/kernel_options.hpp"

#include <fmt/format.h>

#include "carillon/detail/host/duration_text.hpp"
#include "carillon/detail/host/kernel_supervisor.hpp"
#include "carillon/error.hpp"

namespace carillon::detail {

void check_options(KernelOptions const& options) {
    constexpr std::chrono::milliseconds least_host_limit{10};
    constexpr std::uint32_t longest_sleep_ns = 1'000'000;
    std::chrono::nanoseconds const host_limit = options.host_limit.value_or(least_host_limit);
    if (blocks_of(options) == 0) throw UsageError("0 blocks: a kernel has at least one block");
    if (host_limit.count() != 0 && host_limit < least_host_limit) {
        throw UsageError(fmt::format("a host_limit of {}: it is 10 ms or more, or 0 for none",
                                     duration_text(host_limit)));
    }
    if (options.lifetime.count() < 0) {
        throw UsageError(fmt::format("a lifetime of {}: it is 0, for ever, or more",
                                     duration_text(options.lifetime)));
    }
    if (options.idle.longest_sleep_ns > longest_sleep_ns) {
        using std::chrono::nanoseconds;
        throw UsageError(fmt::format("a sleep of {}: a GPU sleeps for {} at most",
                                     duration_text(nanoseconds(options.idle.longest_sleep_ns)),
                                     duration_text(nanoseconds(longest_sleep_ns))));
    }
}

std::chrono::nanoseconds host_silence_limit(KernelOptions const& options,
                                            DeviceTraits const& traits) {
    if (options.host_limit) return *options.host_limit;
    return std::chrono::seconds(traits.kernels_end_with_process ? 0 : 1);
}

BlockLimits block_limits(KernelOptions const& options, DeviceTraits const& traits) {
    return {static_cast<std::uint64_t>(options.lifetime.count()),
            static_cast<std::uint64_t>(host_silence_limit(options, traits).count()),
            {options.idle.polls, options.idle.longest_sleep_ns}};
}

}  // namespace carillon::detail
