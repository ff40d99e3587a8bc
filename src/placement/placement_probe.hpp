// SPDX-License-Identifier: Apache-2.0
// Round trips to blocks that the CPU leads from line to line.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "carillon/placement.hpp"
#include "carillon/wait.hpp"

namespace carillon::detail {

using ProbeSamples = std::vector<std::uint32_t>;  // nanoseconds

// The median, or 0 without samples; reorders the samples.
[[nodiscard]] double median_of(ProbeSamples& samples);

class Prober {
   public:
    using Clock = std::chrono::steady_clock;

    // Starts a block for each role of `pins` over the parts of `memory`, whose content is lost. The
    // blocks end by themselves after `limit`. Returns when all of them run, or after half a second.
    Prober(Device const& device, ChannelMemory& memory, Pins const& pins, LaunchProbe launch,
           std::chrono::nanoseconds limit);
    Prober& operator=(Prober&&) = delete;
    ~Prober();

    [[nodiscard]] bool started(unsigned role) const;
    [[nodiscard]] std::uint32_t sm(unsigned role) const;

    // Makes a round trip of a role through each location, in turn, and appends its time to the
    // samples with the same index. Every trip uses another slot. Throws TimeoutError.
    void walk(unsigned role, std::span<ChannelLocation const> locations,
              std::span<ProbeSamples> samples);

    // Ends the blocks and makes the rings empty again. Throws TimeoutError if they do not end.
    void stop();

   private:
    struct Role {
        Tag tag = 0;           // of its last trip
        std::uint32_t at = 0;  // the line that it looks at
    };

    // The line of a trip in a part of `bytes` bytes.
    [[nodiscard]] std::uint32_t line_of(std::uint32_t part, std::size_t bytes, Tag trip) const;
    std::uint32_t trip(Role& role, std::uint32_t reply, std::uint32_t next);
    void await_start();
    void ask_to_stop();

    ChannelMemory& memory_;
    ChannelTable table_;  // by parts, however the memory is arranged
    HostMapped far_;
    HostWait wait_;
    std::vector<Role> roles_;
    bool stopped_ = false;
    RunningKernel running_;
};

}  // namespace carillon::detail
