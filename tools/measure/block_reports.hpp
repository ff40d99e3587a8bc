// SPDX-License-Identifier: Apache-2.0
// The reports of blocks in our own kernels about themselves. For sources that start such kernels.
#pragma once

#include <carillon/carillon.hpp>
#include <chrono>
#include <cstring>

#include "kernels/rtt_kernels.hpp"

namespace carillon::tool {

// No kernel takes longer to start or to end.
inline constexpr std::chrono::seconds kernel_limit{5};
// No single round trip may take longer.
inline constexpr std::chrono::seconds round_trip_limit{1};
// A kernel of one round ends by itself after this time, whatever happens on the CPU: enough for so
// many trips, and for so long pauses in all between them.
[[nodiscard]] constexpr std::uint64_t kernel_limit_ns(std::uint64_t trips,
                                                      std::chrono::nanoseconds pauses = {}) {
    constexpr std::chrono::nanoseconds slow_trip = std::chrono::milliseconds(1);
    constexpr std::chrono::nanoseconds all_else = std::chrono::seconds(60);
    return static_cast<std::uint64_t>((all_else + pauses).count()) +
           trips * static_cast<std::uint64_t>(slow_trip.count());
}

class BlockReports {
   public:
    explicit BlockReports(Device const& device, unsigned blocks = 1)
        : memory_(device.allocate_host(blocks * sizeof(BlockReport))), blocks_(blocks) {
        clear();
    }

    // Clears the reports before another kernel starts.
    void clear() { std::memset(memory_.host_ptr(), 0, memory_.size()); }

    [[nodiscard]] BlockReport* device_view() const {
        return static_cast<BlockReport*>(memory_.device_ptr());
    }

    // Waits until all blocks of `kernel` run. Throws TimeoutError.
    void await_started(RunningKernel const& kernel) const {
        auto const started = [&] { return all_started() || kernel.finished(); };
        if (!HostWait(HostWait::Style::yield).until(started, kernel_limit)) {
            throw TimeoutError("measure", "the kernel did not start");
        }
    }

    // The SM of a block that has started.
    [[nodiscard]] int sm(unsigned block = 0) const {
        return static_cast<int>(detail::HostCached().load_word(&of(block).sm));
    }
    [[nodiscard]] std::uint64_t page(unsigned block) const {
        return detail::HostCached().load_word(&of(block).page);
    }

   private:
    [[nodiscard]] BlockReport const& of(unsigned block) const {
        return static_cast<BlockReport const*>(memory_.host_ptr())[block];
    }
    [[nodiscard]] bool all_started() const {
        for (unsigned block = 0; block < blocks_; ++block) {
            if (detail::HostCached().load_word(&of(block).started) == 0) return false;
        }
        return true;
    }

    Memory memory_;
    unsigned blocks_;
};

}  // namespace carillon::tool
